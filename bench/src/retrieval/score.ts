import { plainText, type Question } from "./set.ts";

/** What was found and answered for a question. */
export type Outcome = {
  /** The passages' texts, best first. */
  passages: string[];
  answer: string;
};

export type Scores = {
  /** The share of the questions whose passage is among the first five. */
  recallAt5: number;
  /** The mean of 1 / the rank of the first passage that answers; 0 where none does. */
  meanReciprocalRank: number;
  /** The share of the answers that hold a passage that answers. */
  answered: number;
};

export function score(asked: readonly { question: Question; outcome: Outcome }[]): Scores {
  const ranks = asked.map(({ question, outcome }) => rankOf(question, outcome));
  const holds = asked.filter(({ question, outcome }) => holdsAny(outcome.answer, question));
  const share = (count: number) => count / asked.length;
  return {
    recallAt5: share(ranks.filter((rank) => rank <= 5).length),
    meanReciprocalRank: share(ranks.reduce((sum, rank) => sum + 1 / rank, 0)),
    answered: share(holds.length),
  };
}

/** From 1; infinite when no passage answers. */
function rankOf(question: Question, { passages }: Outcome): number {
  const place = passages.findIndex((text) => holdsAny(text, question));
  return place < 0 ? Number.POSITIVE_INFINITY : place + 1;
}

function holdsAny(text: string, { passages }: Question): boolean {
  const plain = plainText(text);
  return passages.some((passage) => plain.includes(plainText(passage).trim()));
}

/** The share of the answers that say honestly that they have none. */
export function refusals(outcomes: readonly Outcome[]): number {
  return outcomes.filter(({ answer }) => answer.startsWith("Sorry, I don't know.")).length / outcomes.length;
}

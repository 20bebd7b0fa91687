import { plainText, type Question } from "./relevance-set.ts";

/** The passages that were found for a question, and the model's answer. */
export type QuestionResult = {
  /** The passages' texts, best first. */
  passages: string[];
  answer: string;
};

export type Scores = {
  /** Share of the questions with an answering passage among the first five found. */
  hitRateAt5: number;
  /** Mean over the questions of 1 ÷ the rank of the first answering passage, or 0 if none was found. */
  meanReciprocalRank: number;
  /** Share of the model's replies that contain an answering passage. */
  answered: number;
};

export function computeScores(results: readonly { question: Question; result: QuestionResult }[]): Scores {
  const ranks = results.map(({ question, result }) => rankOf(question, result));
  const answered = results.filter(({ question, result }) => containsPassage(result.answer, question));
  const share = (count: number) => count / results.length;
  return {
    hitRateAt5: share(ranks.filter((rank) => rank <= 5).length),
    meanReciprocalRank: share(ranks.reduce((sum, rank) => sum + 1 / rank, 0)),
    answered: share(answered.length),
  };
}

/** Returns the rank of the first answering passage, from 1; Infinity if there is none. */
function rankOf(question: Question, { passages }: QuestionResult): number {
  const index = passages.findIndex((text) => containsPassage(text, question));
  return index < 0 ? Number.POSITIVE_INFINITY : index + 1;
}

function containsPassage(text: string, { passages }: Question): boolean {
  const plain = plainText(text);
  return passages.some((passage) => plain.includes(plainText(passage).trim()));
}

/** Returns the share of answers in which the model refuses: it replies that it does not know. */
export function shareOfRefusals(results: readonly QuestionResult[]): number {
  return results.filter(({ answer }) => answer.startsWith("Sorry, I don't know.")).length / results.length;
}

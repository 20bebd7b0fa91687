import type { System } from "../../../tests/system/system.ts";
import { teachBot } from "./ask.ts";
import { refusals, type Scores, score } from "./score.ts";
import { type OutsideQuestion, type Question, readRelevanceSet, type Split } from "./set.ts";

/** What may be looked at while the retriever is worked on, what is only ever measured, and both. */
export type Part = Split | "all";

export type Measured = Record<Part, Scores & { refused: number; nearMissesRefused: number }>;

/** Asks a fresh bot all questions of the relevance set. */
export async function measureRelevance(system: System): Promise<Measured> {
  const set = readRelevanceSet();
  const asker = await teachBot(system, set.documents);
  try {
    const askAll = async <Q extends Question | OutsideQuestion>(questions: readonly Q[]) => {
      const asked: { question: Q; outcome: Awaited<ReturnType<typeof asker.ask>> }[] = [];
      for (const question of questions) asked.push({ question, outcome: await asker.ask(question.question) });
      return asked;
    };
    const answerable = await askAll(set.questions);
    const unanswerable = await askAll(set.unanswerable);
    const nearMisses = await askAll(set.nearMisses);
    const scoresOf = (part: Part) => {
      const within = <T extends { question: { split: Split } }>(asked: readonly T[]) =>
        asked.filter(({ question }) => part === "all" || question.split === part);
      return {
        ...score(within(answerable)),
        refused: refusals(within(unanswerable).map(({ outcome }) => outcome)),
        nearMissesRefused: refusals(within(nearMisses).map(({ outcome }) => outcome)),
      };
    };
    return { dev: scoresOf("dev"), held: scoresOf("held"), all: scoresOf("all") };
  } finally {
    asker.close();
  }
}

/** Milliseconds of each search on a bot that knows the set's documents so many times over. */
export async function measureSearches(system: System, copies: number, rounds: number): Promise<number[]> {
  const { documents, questions } = readRelevanceSet();
  const many = Array.from({ length: copies }, (_, copy) =>
    documents.map(({ name, text }) => ({ name: `${copy}/${name}`, text })),
  );
  const asker = await teachBot(system, many.flat());
  try {
    const times: number[] = [];
    // The first round brings the index into memory.
    for (let round = 0; round <= rounds; round++)
      for (const { question } of questions) {
        const ms = await asker.searchMs(question);
        if (round > 0) times.push(ms);
      }
    return times;
  } finally {
    asker.close();
  }
}

/** The goals, on the whole set, and of a search among 10,000 chunks. */
export const GOALS = { recallAt5: 0.85, answered: 0.8, refused: 0.95, searchMs: 100 };

import type { System } from "../../../tests/system/system.ts";
import { createKnowledgeBot } from "./knowledge-bot.ts";
import { type Question, readRelevanceSet, type Split, type UnanswerableQuestion } from "./relevance-set.ts";
import { computeScores, type QuestionResult, type Scores, shareOfRefusals } from "./score.ts";

/** One half of the relevance set (see bench/relevance/README.md) or the whole set. */
export type Part = Split | "all";

/** `refused` and `nearMissesRefused` are the shares of the part's `unanswerable` and `nearMisses` questions that the model refuses to answer. */
export type RelevanceScores = Record<Part, Scores & { refused: number; nearMissesRefused: number }>;

/** Asks a new bot all questions of the relevance set and returns the scores. */
export async function measureRelevance(system: System): Promise<RelevanceScores> {
  const set = readRelevanceSet();
  const bot = await createKnowledgeBot(system, set.documents);
  try {
    const askAll = async <Q extends Question | UnanswerableQuestion>(questions: readonly Q[]) => {
      const results: { question: Q; result: QuestionResult }[] = [];
      for (const question of questions) results.push({ question, result: await bot.ask(question.question) });
      return results;
    };
    const answerable = await askAll(set.questions);
    const unanswerable = await askAll(set.unanswerable);
    const nearMisses = await askAll(set.nearMisses);
    const scoresOf = (part: Part) => {
      const inPart = <T extends { question: { split: Split } }>(results: readonly T[]) =>
        results.filter(({ question }) => part === "all" || question.split === part);
      return {
        ...computeScores(inPart(answerable)),
        refused: shareOfRefusals(inPart(unanswerable).map(({ result }) => result)),
        nearMissesRefused: shareOfRefusals(inPart(nearMisses).map(({ result }) => result)),
      };
    };
    return { dev: scoresOf("dev"), holdout: scoresOf("holdout"), all: scoresOf("all") };
  } finally {
    bot.close();
  }
}

/**
 * Creates a bot with `copies` copies of the relevance set's documents. Searches for each question of the set once to warm up, and then `rounds`
 * times. Returns the milliseconds of each search after the warm-up.
 */
export async function measureSearches(system: System, copies: number, rounds: number): Promise<number[]> {
  const { documents, questions } = readRelevanceSet();
  const copiedDocuments = Array.from({ length: copies }, (_, copy) =>
    documents.map(({ name, text }) => ({ name: `${copy}/${name}`, text })),
  );
  const bot = await createKnowledgeBot(system, copiedDocuments.flat());
  try {
    const times: number[] = [];
    // Round 0 is the warm-up, which reads the index into memory.
    for (let round = 0; round <= rounds; round++)
      for (const { question } of questions) {
        const ms = await bot.measureSearchMs(question);
        if (round > 0) times.push(ms);
      }
    return times;
  } finally {
    bot.close();
  }
}

/**
 * Minimum shares for the whole set, and the maximum p99 time of a search among 10,000 chunks. An answer has at most 400 characters and often
 * another right sentence than the quotations, so fewer answers contain a quotation than are from the right document.
 */
export const GOALS = {
  hitRateAt5: 0.85,
  answersWithQuotation: 0.35,
  answersFromDocument: 0.5,
  refused: 0.95,
  searchMs: 100,
};

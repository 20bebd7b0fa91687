import { findAnswer, type PreparedQuestion } from "../answers/index.ts";
import type { BotRef } from "../bots/index.ts";
import type { QuestionSearch } from "../questions/index.ts";
import type { CaseResult, EvaluationCase, NewRun } from "./evaluations.store.ts";

/** Less than the console's timeout of 60 s. */
const MAX_RUN_MS = 40_000;
/** Few, because visitors' searches use the same database and the same embedding model. */
const CONCURRENT_SEARCHES = 2;

/** The RPC's handler (evaluations.admin.ts) calls `requireSearchTimeLeft`. `runEvaluation` below calls the other methods. */
export type CaseSearch = Pick<QuestionSearch, "requireSearchTimeLeft" | "readKnowledge" | "search">;

export type RunOptions = {
  signal: AbortSignal;
  /** The questions of the owner's answers. */
  answers?: readonly PreparedQuestion[];
  maxRunMs?: number;
};

/**
 * Searches the bot's knowledge with each case's question and returns the ranks of the cases' documents. As in a turn, a question that an owner's
 * answer answers needs no search. Starts no search after `maxRunMs`.
 * Throws if the signal is aborted.
 */
export async function runEvaluation(
  questionSearch: Omit<CaseSearch, "requireSearchTimeLeft">,
  bot: BotRef,
  cases: readonly EvaluationCase[],
  { signal, answers = [], maxRunMs = MAX_RUN_MS }: RunOptions,
): Promise<NewRun> {
  const endMs = performance.now() + maxRunMs;
  const knowledge = await questionSearch.readKnowledge(bot.workspaceId, bot.botId);
  const results = new Map<number, CaseResult>();
  const waiting = [...cases];
  let semanticFailures = 0;
  const searchNext = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      signal.throwIfAborted();
      if (performance.now() >= endMs) return;
      const { id, question, document } = next;
      const given = findAnswer(question, answers);
      if (given !== undefined) {
        results.set(id, { caseId: id, rank: 0, answerId: given.answerId });
        continue;
      }
      const { usedPassages, semanticResult } = await questionSearch.search(knowledge, question);
      results.set(id, { caseId: id, rank: usedPassages.findIndex(({ source }) => source === document) + 1 });
      if (semanticResult !== undefined && semanticResult !== "ok" && semanticResult !== "off") semanticFailures++;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_SEARCHES }, searchNext));
  const ordered = cases.flatMap(({ id }) => results.get(id) ?? []);
  const found = ordered.filter(({ rank, answerId }) => rank > 0 || answerId !== undefined).length;
  return { cases: cases.length, searched: ordered.length, found, semanticFailures, results: ordered };
}

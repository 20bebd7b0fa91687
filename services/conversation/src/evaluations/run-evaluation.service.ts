import type { BotRef } from "../bots/index.ts";
import type { QuestionSearch } from "../questions/index.ts";
import type { CaseResult, EvaluationCase, NewRun } from "./evaluations.store.ts";

/** Less than the console's timeout of 60 s. */
const MAX_RUN_MS = 40_000;
/** Few, because visitors' searches use the same database and the same embedding model. */
const CONCURRENT_SEARCHES = 2;

/** The RPC's handler (evaluations.admin.ts) calls `requireSearchTimeLeft`. `runEvaluation` below calls the other methods. */
export type CaseSearch = Pick<QuestionSearch, "requireSearchTimeLeft" | "readKnowledge" | "search">;

export type RunOptions = { signal: AbortSignal; maxRunMs?: number };

/**
 * Searches the bot's knowledge with each case's question and returns the ranks of the cases' documents. Starts no search after `maxRunMs`.
 * Throws if the signal is aborted.
 */
export async function runEvaluation(
  questionSearch: Omit<CaseSearch, "requireSearchTimeLeft">,
  bot: BotRef,
  cases: readonly EvaluationCase[],
  { signal, maxRunMs = MAX_RUN_MS }: RunOptions,
): Promise<NewRun> {
  const endMs = performance.now() + maxRunMs;
  const knowledge = await questionSearch.readKnowledge(bot.workspaceId, bot.botId);
  const ranks = new Map<number, number>();
  const waiting = [...cases];
  let semanticFailures = 0;
  const searchNext = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      signal.throwIfAborted();
      if (performance.now() >= endMs) return;
      const { id, question, document } = next;
      const { usedPassages, semanticResult } = await questionSearch.search(knowledge, question);
      ranks.set(id, usedPassages.findIndex(({ source }) => source === document) + 1);
      if (semanticResult !== undefined && semanticResult !== "ok" && semanticResult !== "off") semanticFailures++;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_SEARCHES }, searchNext));
  const results = cases.flatMap(({ id: caseId }): CaseResult[] => {
    const rank = ranks.get(caseId);
    return rank === undefined ? [] : [{ caseId, rank }];
  });
  const found = results.filter(({ rank }) => rank > 0).length;
  return { cases: cases.length, searched: results.length, found, semanticFailures, results };
}

import { RpcError, status } from "@parley/rpc";
import type { Counter, Database, Logger } from "@parley/service-kit";
import { findNearest, type SimilarPassage } from "./embeddings.store.ts";
import type { EmbeddingClient } from "./embeddings.worker.ts";
import type { BotKnowledge } from "./knowledge-search.store.ts";
import { MAX_QUERY_CHARACTERS } from "./word-search.service.ts";

/** Results of a semantic search. With any result but `ok`, the turn uses word search alone. */
export const SEMANTIC_SEARCH_RESULTS = ["ok", "timeout", "failed", "off", "paused"] as const;
export type SemanticSearchResult = (typeof SEMANTIC_SEARCH_RESULTS)[number];

export type SemanticMatches = {
  /** Nearest first. */
  passages: readonly SimilarPassage[];
  /** Undefined if the search was skipped: the bot has no embeddings or too many chunks, or the message is empty. */
  result: SemanticSearchResult | undefined;
};

/** The visitor waits for the embedding call, so its deadline is short. */
const TIMEOUT_MS = 300;
const MAX_PASSAGES = 12;
/** The search compares all vectors of the bot. With more chunks it would take too long and is skipped. */
const MAX_CHUNKS = 10_000;
/** Circuit breaker: after this many failures in a row, semantic search pauses for PAUSE_MS. */
const MAX_CONSECUTIVE_FAILURES = 3;
const PAUSE_MS = 10_000;

export type SemanticSearchDeps = {
  database: Database;
  llm: EmbeddingClient;
  searches: Counter<"result">;
  log: Logger;
  /** Returns the milliseconds of a monotonic clock. */
  now: () => number;
};

/** Finds the passages whose embeddings are nearest to a message's embedding. */
export class SemanticSearch {
  readonly #deps: SemanticSearchDeps;
  #consecutiveFailures = 0;
  #pausedUntilMs = 0;

  constructor(deps: SemanticSearchDeps) {
    this.#deps = deps;
  }

  /** Returns no passages if the search fails or times out; never throws. */
  async search(bot: BotKnowledge, message: string): Promise<SemanticMatches> {
    const text = message.slice(0, MAX_QUERY_CHARACTERS).toWellFormed().trim();
    if (!bot.hasEmbeddings || bot.chunks > MAX_CHUNKS || text === "") return { passages: [], result: undefined };
    const { searches, log, now } = this.#deps;
    if (now() < this.#pausedUntilMs) {
      searches.inc({ result: "paused" satisfies SemanticSearchResult });
      return { passages: [], result: "paused" };
    }
    try {
      const passages = await this.#find(bot, text);
      this.#consecutiveFailures = 0;
      searches.inc({ result: "ok" satisfies SemanticSearchResult });
      return { passages, result: "ok" };
    } catch (error) {
      const result = toSearchResult(error);
      searches.inc({ result });
      // The operator has configured no embedding model, so this is not a failure.
      if (result === "off") return { passages: [], result };
      log.warn({ error, result }, "semantic search failed");
      this.#consecutiveFailures++;
      if (this.#consecutiveFailures >= MAX_CONSECUTIVE_FAILURES) {
        this.#consecutiveFailures = 0;
        this.#pausedUntilMs = now() + PAUSE_MS;
      }
      return { passages: [], result };
    }
  }

  async #find(bot: BotKnowledge, text: string): Promise<SimilarPassage[]> {
    const { database, llm } = this.#deps;
    const { model, embeddings } = await llm.embed(
      { workspaceId: bot.workspaceId, texts: [text] },
      { timeoutMs: TIMEOUT_MS },
    );
    return findNearest(database, bot, model, embeddings[0]?.values ?? [], MAX_PASSAGES);
  }
}

function toSearchResult(error: unknown): SemanticSearchResult {
  if (!(error instanceof RpcError)) return "failed";
  if (error.status === status.FAILED_PRECONDITION) return "off";
  return error.status === status.DEADLINE_EXCEEDED ? "timeout" : "failed";
}

import { RpcError, status } from "@parley/rpc";
import type { Counter, Database, Logger } from "@parley/service-kit";
import type { Passage } from "../turns/index.ts";
import { findNearest } from "./embeddings.store.ts";
import type { EmbeddingClient } from "./embeddings.worker.ts";
import type { BotKnowledge } from "./knowledge-search.store.ts";

/** How a search by meaning went: everything but `ok` leaves the visitor with what the words alone find. */
export const MEANING_RESULTS = ["ok", "timeout", "failed", "off", "paused"] as const;
export type MeaningResult = (typeof MEANING_RESULTS)[number];

/** As much as a visitor may wait for it. */
const TIMEOUT_MS = 300;
/** A question's words come early. */
const MAX_QUERY_CHARACTERS = 1_000;
const MAX_PASSAGES = 12;
/** Every one of a bot's vectors is compared; beyond so many that would take too long. */
const MAX_CHUNKS = 10_000;
/** After so many failures in a row nobody is made to wait for the next one, for a while. */
const FAILURES = 3;
const PAUSE_MS = 10_000;

export type MeaningsDeps = {
  database: Database;
  llm: EmbeddingClient;
  searches: Counter<"result">;
  log: Logger;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
};

/** Finds passages by what they mean. */
export class Meanings {
  readonly #deps: MeaningsDeps;
  #failures = 0;
  #pausedUntilMs = 0;

  constructor(deps: MeaningsDeps) {
    this.#deps = deps;
  }

  /** The passages nearest in meaning to a message; none when they cannot be had in time. Never throws. */
  async nearest(bot: BotKnowledge, message: string): Promise<Passage[]> {
    const text = message.slice(0, MAX_QUERY_CHARACTERS).toWellFormed().trim();
    if (!bot.isEmbedded || bot.chunks > MAX_CHUNKS || text === "") return [];
    const { searches, log, now } = this.#deps;
    if (now() < this.#pausedUntilMs) {
      searches.inc({ result: "paused" satisfies MeaningResult });
      return [];
    }
    try {
      const passages = await this.#find(bot, text);
      this.#failures = 0;
      searches.inc({ result: "ok" satisfies MeaningResult });
      return passages;
    } catch (error) {
      const result = resultOf(error);
      searches.inc({ result });
      // Whoever switched it off is in no trouble.
      if (result !== "off") log.warn({ error, result }, "knowledge was searched by its words alone");
      this.#failures++;
      if (this.#failures >= FAILURES) {
        this.#failures = 0;
        this.#pausedUntilMs = now() + PAUSE_MS;
      }
      return [];
    }
  }

  async #find(bot: BotKnowledge, text: string): Promise<Passage[]> {
    const { database, llm } = this.#deps;
    const { model, embeddings } = await llm.embed(
      { workspaceId: bot.workspaceId, texts: [text] },
      { timeoutMs: TIMEOUT_MS },
    );
    return findNearest(database, bot, model, embeddings[0]?.values ?? [], MAX_PASSAGES);
  }
}

function resultOf(error: unknown): MeaningResult {
  if (!(error instanceof RpcError)) return "failed";
  if (error.status === status.FAILED_PRECONDITION) return "off";
  return error.status === status.DEADLINE_EXCEEDED ? "timeout" : "failed";
}

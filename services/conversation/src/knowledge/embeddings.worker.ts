import type { RpcClient } from "@parley/rpc";
import type { LlmService } from "@parley/rpc/llm";
import type { Database, Logger } from "@parley/service-kit";
import {
  type ClaimedSource,
  claimSource,
  countUnembedded,
  hasPgvector,
  readUnembedded,
  releaseSource,
  storeEmbeddings,
} from "./embeddings.store.ts";

export type EmbeddingClient = Pick<RpcClient<typeof LlmService>, "embed">;

/**
 * Whether knowledge is being embedded: `on`; `off`, no model is configured; `no_pgvector`, the database cannot compare vectors; `unknown`,
 * llm-proxy has not answered yet.
 */
export type EmbeddingState = "on" | "off" | "no_pgvector" | "unknown";

export type EmbeddingStatus = { state: EmbeddingState /** Empty where none is known. */; model: string };

/** Some 10,000 tokens at most: a second or two for any provider. */
const BATCH_CHUNKS = 32;
/** As much of one as llm-proxy takes; only a heading without end makes a chunk longer. */
const MAX_TEXT_CHARACTERS = 8_000;
const EMBED_TIMEOUT_MS = 60_000;
const DESCRIBE_TIMEOUT_MS = 5_000;
/** A source that failed lets the others go first. */
const RETRY_SECONDS = 30;

/**
 * Turns what bots know into vectors, source by source and batch by batch. What is done stays done: another process, or this one after a
 * failure, goes on from there. Several may be at it at once, each on sources of its own.
 */
export class EmbeddingWorker {
  readonly #database: Database;
  readonly #llm: EmbeddingClient;
  readonly #log: Logger;
  #status: EmbeddingStatus = { state: "unknown", model: "" };

  constructor(database: Database, llm: EmbeddingClient, log: Logger) {
    this.#database = database;
    this.#llm = llm;
    this.#log = log;
  }

  /** As of the last run. */
  get status(): EmbeddingStatus {
    return this.#status;
  }

  /** How many chunks of all bots are left to do; 0 while none are being done. */
  async countLeft(): Promise<number> {
    const { state, model } = this.#status;
    return state === "on" ? countUnembedded(this.#database, model) : 0;
  }

  /** Embeds whatever has not been, until nothing is left or the signal; throws on the first failure. */
  async run(signal: AbortSignal): Promise<void> {
    const model = await this.#begin(signal);
    if (model === undefined) return;
    while (!signal.aborted) {
      const source = await claimSource(this.#database, model);
      if (source === undefined) return;
      let pauseSeconds = 0;
      try {
        if (!(await this.#embedSource(source, model, signal))) return;
      } catch (error) {
        if (signal.aborted) return;
        pauseSeconds = RETRY_SECONDS;
        throw error;
      } finally {
        await releaseSource(this.#database, source, pauseSeconds);
      }
    }
  }

  /** The model to embed with; undefined when nothing can be. */
  async #begin(signal: AbortSignal): Promise<string | undefined> {
    // A proxy that is only just starting is no failure.
    const { model } = await this.#llm.embed({}, { timeoutMs: DESCRIBE_TIMEOUT_MS, signal, waitForReady: true });
    const state = model === "" ? "off" : (await hasPgvector(this.#database)) ? "on" : "no_pgvector";
    const isNews = state !== this.#status.state || model !== this.#status.model;
    this.#status = { state, model };
    if (isNews && state === "on") this.#log.info({ model }, "knowledge is searched by meaning too");
    if (isNews && state === "no_pgvector")
      this.#log.warn("knowledge is searched by its words alone: the database has no pgvector; CREATE EXTENSION vector");
    return state === "on" ? model : undefined;
  }

  /** False when the model is no longer the one in force. */
  async #embedSource(source: ClaimedSource, model: string, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      const chunks = await readUnembedded(this.#database, source, model, BATCH_CHUNKS);
      if (chunks.length === 0) {
        // Counted anew: what an earlier run of this model did may have been counted as another's since.
        await storeEmbeddings(this.#database, source, model, []);
        return true;
      }
      const { workspaceId } = source;
      const texts = chunks.map(({ heading, text }) =>
        `${heading}\n${text}`.trim().slice(0, MAX_TEXT_CHARACTERS).toWellFormed(),
      );
      const made = await this.#llm.embed({ workspaceId, texts }, { timeoutMs: EMBED_TIMEOUT_MS, signal });
      if (made.model !== model) return false;
      const vectors = chunks.map(({ id }, place) => ({ id, vector: made.embeddings[place]?.values ?? [] }));
      // Replaced meanwhile, it is claimed anew.
      if (!(await storeEmbeddings(this.#database, source, model, vectors))) return true;
    }
    return true;
  }
}

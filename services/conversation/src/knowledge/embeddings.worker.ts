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
 * - `off`: no embedding model is configured.
 * - `no_pgvector`: the database does not have the extension.
 * - `unknown`: llm-proxy has not responded yet.
 */
export type EmbeddingState = "on" | "off" | "no_pgvector" | "unknown";

/** `model` is empty if the state is `off` or `unknown`. */
export type EmbeddingStatus = { state: EmbeddingState; model: string };

/** At most about 10,000 tokens, which a provider embeds within 1 or 2 seconds. */
const BATCH_CHUNKS = 32;
/** llm-proxy's limit for one text. Only a chunk with a very long heading exceeds it. */
const MAX_TEXT_CHARACTERS = 8_000;
const EMBED_TIMEOUT_MS = 60_000;
const READ_MODEL_TIMEOUT_MS = 5_000;
/** A source whose embedding failed stays leased for this long, so that other sources are embedded first. */
const RETRY_SECONDS = 30;

/**
 * Embeds the chunks of all bots, one source and one batch at a time. A run after a failure continues after the last stored batch.
 * Several processes may run concurrently: each leases the source that it embeds.
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

  /** Returns the number of chunks, over all bots, that are still to be embedded; 0 unless the state is `on`. */
  async countUnembedded(): Promise<number> {
    const { state, model } = this.#status;
    return state === "on" ? countUnembedded(this.#database, model) : 0;
  }

  /** Embeds chunks until no source can be claimed, llm-proxy changes to another model, or the signal aborts. Throws on the first failure. */
  async run(signal: AbortSignal): Promise<void> {
    const model = await this.#readModel(signal);
    if (model === undefined) return;
    while (!signal.aborted) {
      const source = await claimSource(this.#database, model);
      if (source === undefined) return;
      if (!(await this.#embedSource(source, model, signal))) return;
    }
  }

  /** Updates the status. Returns the embedding model if the state is `on`, otherwise undefined. */
  async #readModel(signal: AbortSignal): Promise<string | undefined> {
    // A request without texts returns only the model.
    const { model } = await this.#llm.embed({}, { timeoutMs: READ_MODEL_TIMEOUT_MS, signal, waitForReady: true });
    const state = model === "" ? "off" : (await hasPgvector(this.#database)) ? "on" : "no_pgvector";
    const hasChanged = state !== this.#status.state || model !== this.#status.model;
    this.#status = { state, model };
    if (hasChanged && state === "on") this.#log.info({ model }, "semantic search enabled");
    if (hasChanged && state === "no_pgvector")
      this.#log.warn("semantic search disabled: pgvector is not installed, run CREATE EXTENSION vector");
    return state === "on" ? model : undefined;
  }

  /**
   * Embeds a source's chunks, then ends the lease. After a failure, the lease ends RETRY_SECONDS later. Returns false if llm-proxy has changed
   * to another model, or if the signal aborted a batch. Throws on any other failure.
   */
  async #embedSource(claimed: ClaimedSource, model: string, signal: AbortSignal): Promise<boolean> {
    let source = claimed;
    let leaseSeconds = 0;
    try {
      while (!signal.aborted) {
        const chunks = await readUnembedded(this.#database, source, model, BATCH_CHUNKS);
        if (chunks.length === 0) {
          // Recounts the stored embeddings. If the previous claim was for another model, this claim has reset the count to 0, but this model's
          // embeddings may still exist.
          source = (await storeEmbeddings(this.#database, source, model, [])) ?? source;
          return true;
        }
        const { workspaceId } = source;
        const texts = chunks.map(({ heading, text }) =>
          `${heading}\n${text}`.trim().slice(0, MAX_TEXT_CHARACTERS).toWellFormed(),
        );
        const response = await this.#llm.embed({ workspaceId, texts }, { timeoutMs: EMBED_TIMEOUT_MS, signal });
        if (response.model !== model) return false;
        const vectors = chunks.map(({ id }, index) => ({ id, vector: response.embeddings[index]?.values ?? [] }));
        const renewed = await storeEmbeddings(this.#database, source, model, vectors);
        // If the source was replaced meanwhile, the next claim starts over. If another process has the lease, that process continues.
        if (renewed === undefined) return true;
        source = renewed;
      }
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      leaseSeconds = RETRY_SECONDS;
      throw error;
    } finally {
      await releaseSource(this.#database, source, leaseSeconds);
    }
  }
}

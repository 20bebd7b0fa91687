import { Worker } from "node:worker_threads";
import type { Lifecycle } from "@parley/service-kit";
import type { CountRequest, CountResponse } from "./tokenizer.thread.ts";
import { findVocabulary } from "./vocabulary.ts";

const THREAD = new URL("./tokenizer.thread.ts", import.meta.url);
/** How long a count may delay the end of a generation. Loading a vocabulary takes longer, so the first generation's tokens are estimated. */
const MAX_WAIT_MS = 250;
/** If a count takes longer, its thread is ended: one letter repeated many times can occupy the tokenizer for minutes. */
const MAX_COUNT_MS = 5_000;
/** An unused thread is ended after this time, which frees about 100 MB. */
const IDLE_MS = 10 * 60_000;
/** Texts are not counted if they have more characters in total. */
const MAX_CHARACTERS = 400_000;
const MAX_HEAP_MB = 256;

export type TokenizerOptions = { waitMs?: number; maxCountMs?: number; idleMs?: number };

/** Counts tokens with the vocabulary of a model's family, in a thread that starts with the first count. */
export class Tokenizer {
  readonly #options: Required<TokenizerOptions>;
  readonly #pending = new Map<number, (counts: number[] | undefined) => void>();
  #worker: Worker | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #lastId = 0;

  constructor(lifecycle: Pick<Lifecycle, "onClose">, options: TokenizerOptions = {}) {
    this.#options = { waitMs: MAX_WAIT_MS, maxCountMs: MAX_COUNT_MS, idleMs: IDLE_MS, ...options };
    lifecycle.onClose("tokenizer", () => this.#stop());
  }

  /** Returns each text's token count. Returns undefined if no vocabulary fits the model, the texts are too long or the count takes too long. */
  async count(model: string, texts: readonly string[]): Promise<number[] | undefined> {
    const vocabulary = findVocabulary(model);
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (vocabulary === undefined || characters > MAX_CHARACTERS) return undefined;
    const worker = this.#getOrStartWorker();
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      const waitTimer = setTimeout(() => resolve(undefined), this.#options.waitMs);
      const countTimer = setTimeout(() => void this.#stop(worker), this.#options.maxCountMs).unref();
      this.#pending.set(id, (counts) => {
        clearTimeout(waitTimer);
        clearTimeout(countTimer);
        resolve(counts);
      });
      const request: CountRequest = { id, vocabulary, texts };
      worker.postMessage(request);
    });
  }

  #getOrStartWorker(): Worker {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => void this.#stop(), this.#options.idleMs).unref();
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(THREAD, { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
    worker.unref();
    worker.on("message", ({ id, counts }: CountResponse) => this.#settle(id, counts));
    // After an error, pending counts return undefined, and the next count starts another thread.
    worker.on("error", () => void this.#stop(worker));
    this.#worker = worker;
    return worker;
  }

  /** Ends the thread, unless another one has replaced it. */
  async #stop(worker: Worker | undefined = this.#worker): Promise<void> {
    if (worker === undefined || this.#worker !== worker) return;
    this.#worker = undefined;
    clearTimeout(this.#idleTimer);
    for (const id of [...this.#pending.keys()]) this.#settle(id, undefined);
    await worker.terminate();
  }

  #settle(id: number, counts: number[] | undefined): void {
    this.#pending.get(id)?.(counts);
    this.#pending.delete(id);
  }
}

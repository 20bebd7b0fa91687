import { Worker } from "node:worker_threads";
import type { Lifecycle } from "@parley/service-kit";
import type { CountAnswer, CountRequest } from "./tokenizer.thread.ts";
import { vocabularyOf } from "./vocabulary.ts";

const WORKER = new URL("./tokenizer.thread.ts", import.meta.url);
/** What the end of a reply may wait for its count; loading a vocabulary takes longer, and the first reply does not wait for it. */
const WAIT_MS = 250;
/** A count that takes longer is given up with its thread: a run of one letter can keep a tokenizer busy for minutes. */
const GIVE_UP_MS = 5_000;
/** Unused for so long, the thread ends and its memory (some 100 MB) is free again. */
const IDLE_MS = 10 * 60_000;
const MAX_CHARACTERS = 400_000;
const MAX_HEAP_MB = 256;

export type TokenizerOptions = { waitMs?: number; giveUpMs?: number; idleMs?: number };

/** Counts tokens by the vocabulary of a model's family, in a thread of its own that is started when the first count is asked for. */
export class Tokenizer {
  readonly #options: Required<TokenizerOptions>;
  readonly #waiting = new Map<number, (counts: number[] | undefined) => void>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;

  constructor(lifecycle: Pick<Lifecycle, "onClose">, options: TokenizerOptions = {}) {
    this.#options = { waitMs: WAIT_MS, giveUpMs: GIVE_UP_MS, idleMs: IDLE_MS, ...options };
    lifecycle.onClose("tokenizer", () => this.#stop());
  }

  /** Tokens of each text; undefined when the family's vocabulary is not published, or not counted in time. */
  async count(model: string, texts: readonly string[]): Promise<number[] | undefined> {
    const vocabulary = vocabularyOf(model);
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (vocabulary === undefined || characters > MAX_CHARACTERS) return undefined;
    const worker = this.#start();
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      const soon = setTimeout(() => resolve(undefined), this.#options.waitMs);
      const late = setTimeout(() => void this.#stop(worker), this.#options.giveUpMs).unref();
      this.#waiting.set(id, (counts) => {
        clearTimeout(soon);
        clearTimeout(late);
        resolve(counts);
      });
      const request: CountRequest = { id, vocabulary, texts };
      worker.postMessage(request);
    });
  }

  #start(): Worker {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#stop(), this.#options.idleMs).unref();
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(WORKER, { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
    worker.unref();
    worker.on("message", ({ id, counts }: CountAnswer) => this.#settle(id, counts));
    // A thread that fails is one that is not there: replies are estimated, and the next count starts another.
    worker.on("error", () => void this.#stop(worker));
    this.#worker = worker;
    return worker;
  }

  /** Ends the thread, if it is still the one that is meant. */
  async #stop(meant: Worker | undefined = this.#worker): Promise<void> {
    if (meant === undefined || this.#worker !== meant) return;
    this.#worker = undefined;
    clearTimeout(this.#idle);
    for (const id of [...this.#waiting.keys()]) this.#settle(id, undefined);
    await meant.terminate();
  }

  #settle(id: number, counts: number[] | undefined): void {
    this.#waiting.get(id)?.(counts);
    this.#waiting.delete(id);
  }
}

import type { Dispatcher } from "undici";
import { brokenOff } from "./failure.ts";

/** So much may wait to be taken; then nothing more is read of the socket. */
const MAX_WAITING_BYTES = 64 * 1024;

/** The body of a response as it comes, what one read of the socket brought in one piece. */
export class IncomingBody {
  readonly #controller: Dispatcher.DispatchController;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isWanted: boolean = true;
  #end: { error?: Error } | undefined;
  #news: PromiseWithResolvers<void> | undefined;

  constructor(controller: Dispatcher.DispatchController) {
    this.#controller = controller;
  }

  /** Resolves with the next piece; undefined at the end. One at a time. Throws ProviderFailure when it was broken off. */
  async next(): Promise<Buffer | undefined> {
    if (this.#waiting.length === 0 && this.#end === undefined) {
      this.#news = Promise.withResolvers();
      await this.#news.promise;
    }
    if (this.#waiting.length === 0) {
      if (this.#end?.error) throw brokenOff(this.#end.error);
      return undefined;
    }
    const [first] = this.#waiting;
    const piece = this.#waiting.length === 1 ? first : Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (this.#controller.paused) this.#controller.resume();
    return piece;
  }

  /** Gives it up, with what waits to be taken, and with its connection unless it has ended. */
  destroy(reason: Error = new Error("nobody reads it")): void {
    this.#waiting = [];
    this.#end = { error: reason };
    this.#news?.resolve();
    this.#controller.abort(reason);
  }

  /** Lets one that has said all it had to say come to its end, so that its connection can serve the next call. */
  finish(withinMs: number): void {
    this.#isWanted = false;
    this.#waiting = [];
    if (this.#end !== undefined) return;
    if (this.#controller.paused) this.#controller.resume();
    const timer = setTimeout(() => this.destroy(), withinMs);
    void this.next()
      .catch(() => undefined)
      .finally(() => clearTimeout(timer));
  }

  /** Takes what has come. */
  push(bytes: Buffer): void {
    if (!this.#isWanted) return;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= MAX_WAITING_BYTES) this.#controller.pause();
    this.#news?.resolve();
  }

  /** Nothing more comes. */
  end(error?: Error): void {
    this.#end ??= { ...(error && { error }) };
    this.#news?.resolve();
  }
}

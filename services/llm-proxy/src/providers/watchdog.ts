import type { Timeouts } from "../settings/index.ts";
import { ProviderFailure } from "./failure.ts";

/** How long the count of tokens may keep the end of a finished reply waiting. */
const LINGER_MS = 2_000;

/**
 * The timers of one call to a provider. Its signal is aborted when one of them runs out, with a ProviderFailure for reason, or with the
 * outer signal, with that one's reason. While the text waits for its reader, only the total time runs.
 */
export class Watchdog {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #timeouts: Timeouts;
  readonly #total: NodeJS.Timeout;
  #wait: NodeJS.Timeout;
  #started: boolean = false;
  #paused: boolean = false;

  constructor(timeouts: Timeouts, outer: AbortSignal) {
    this.#timeouts = timeouts;
    this.#outer = outer;
    this.#total = setTimeout(() => this.#expire("total_timeout"), timeouts.totalMs);
    this.#wait = this.#waiting("first_token_timeout", timeouts.firstTokenMs);
    if (outer.aborted) this.#leave();
    else outer.addEventListener("abort", this.#leave, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Text has come and is on its way to its reader. */
  pause(): void {
    this.#paused = true;
  }

  /** The reader has taken the text, and the next is awaited. */
  resume(): void {
    this.#paused = false;
    if (this.#started) this.#wait.refresh();
    else this.#waitFor("silence_timeout", this.#timeouts.silenceMs);
    this.#started = true;
  }

  /** The model has finished; what may follow is not waited for as long. */
  finish(): void {
    this.#started = true;
    this.#waitFor("silence_timeout", Math.min(LINGER_MS, this.#timeouts.silenceMs));
  }

  stop(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#wait);
    this.#outer.removeEventListener("abort", this.#leave);
  }

  readonly #leave = () => this.#controller.abort(this.#outer.reason);

  #waitFor(reason: string, timeoutMs: number): void {
    clearTimeout(this.#wait);
    this.#wait = this.#waiting(reason, timeoutMs);
  }

  #waiting(reason: string, timeoutMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      if (!this.#paused) this.#expire(reason);
    }, timeoutMs);
  }

  #expire(reason: string): void {
    this.#controller.abort(new ProviderFailure("provider_timeout", reason, { fault: true }));
  }
}

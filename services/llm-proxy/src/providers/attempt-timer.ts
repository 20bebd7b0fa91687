import type { Timeouts } from "../settings/index.ts";
import { ProviderFailure } from "./failure.ts";

/** How long an attempt waits for token counts after the model has finished. */
const USAGE_TIMEOUT_MS = 2_000;

/**
 * Runs the timers of one attempt. Aborts its signal with a ProviderFailure when a timer expires, and with the outer signal's reason when
 * the outer signal is aborted. While text waits for its reader, only the total timeout applies.
 */
export class AttemptTimer {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #timeouts: Timeouts;
  readonly #totalTimer: NodeJS.Timeout;
  /** Runs the first-token timeout, then the silence timeout. */
  #waitTimer: NodeJS.Timeout;
  /** The running silence timeout; undefined before the first sign of life. */
  #silenceMs: number | undefined;
  #hasText: boolean = false;
  #isPaused: boolean = false;
  #isFinished: boolean = false;

  constructor(timeouts: Timeouts, outer: AbortSignal) {
    this.#timeouts = timeouts;
    this.#outer = outer;
    this.#totalTimer = setTimeout(() => this.#expire("total_timeout"), timeouts.totalMs);
    this.#waitTimer = this.#startTimer("first_token_timeout", timeouts.firstTokenMs);
    if (outer.aborted) this.#cancel();
    else outer.addEventListener("abort", this.#cancel, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Must be called when text starts to wait for its reader. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Must be called when the reader has the text. From then on the provider must send more within the silence timeout. */
  resume(): void {
    const wasPaused = this.#isPaused;
    this.#isPaused = false;
    this.#hasText = true;
    if (!this.#isFinished) this.#restart(this.#timeouts.silenceMs);
    else if (wasPaused) this.#waitTimer.refresh();
  }

  /**
   * Must be called when anything arrives from the provider, even without text. Restarts the silence timeout. Before the first text, the provider
   * may be silent for the first-token timeout if that is longer, because some providers send an empty chunk before the model thinks.
   */
  recordSignOfLife(): void {
    if (this.#isPaused || this.#isFinished) return;
    const { firstTokenMs, silenceMs } = this.#timeouts;
    this.#restart(this.#hasText ? silenceMs : Math.max(firstTokenMs, silenceMs));
  }

  /** Must be called when the model has finished. Shortens the silence timeout, because only token counts may follow. */
  finish(): void {
    this.#isFinished = true;
    this.#restart(Math.min(USAGE_TIMEOUT_MS, this.#timeouts.silenceMs));
  }

  stop(): void {
    clearTimeout(this.#totalTimer);
    clearTimeout(this.#waitTimer);
    this.#outer.removeEventListener("abort", this.#cancel);
  }

  readonly #cancel = () => this.#controller.abort(this.#outer.reason);

  #restart(silenceMs: number): void {
    if (this.#silenceMs === silenceMs) {
      this.#waitTimer.refresh();
      return;
    }
    clearTimeout(this.#waitTimer);
    this.#silenceMs = silenceMs;
    this.#waitTimer = this.#startTimer("silence_timeout", silenceMs);
  }

  #startTimer(reason: string, timeoutMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      // While paused, an expired timer is ignored: resume() starts the timer again.
      if (!this.#isPaused) this.#expire(reason);
    }, timeoutMs);
  }

  #expire(reason: string): void {
    this.#controller.abort(new ProviderFailure("provider_timeout", reason, { isProviderFault: true }));
  }
}

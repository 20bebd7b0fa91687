import type { Stopwatch } from "./stopwatch.ts";

/** Gives the time that tools have taken to a phase of their own. Those that a model calls together run at once, and are told one by one. */
export class ToolTime {
  readonly #watch: Stopwatch;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #longestMs = 0;

  constructor(watch: Stopwatch) {
    this.#watch = watch;
  }

  /** A tool has answered after so long. */
  add(latencyMs: number): void {
    const nowMs = this.#watch.elapsedMs();
    // Had it been called after the one before was told, more time than it took would have passed since.
    const isBesideLast = nowMs - this.#toldAtMs < latencyMs;
    const countedMs = isBesideLast ? this.#longestMs : 0;
    this.#watch.split([["tools", latencyMs - countedMs]]);
    this.#longestMs = Math.max(latencyMs, countedMs);
    this.#toldAtMs = nowMs;
  }
}

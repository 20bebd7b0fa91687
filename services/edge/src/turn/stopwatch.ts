export type Phase = { name: string; microseconds: number };

/** Cuts a turn's wall time into disjoint slices that follow one another. */
export class Stopwatch {
  readonly startedAt: number;
  readonly phases: Phase[] = [];
  readonly #now: () => number;
  #last: number;

  /** @param now a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.startedAt = now();
    this.#last = this.startedAt;
  }

  /** Ends a slice that began where the one before it ended. */
  mark(name: string): void {
    const now = this.#now();
    this.phases.push({ name, microseconds: Math.round((now - this.#last) * 1_000) });
    this.#last = now;
  }

  /** Whole milliseconds since the start. */
  elapsedMs(): number {
    return Math.round(this.#now() - this.startedAt);
  }
}

export type Phase = { name: string; microseconds: number };

/** Divides a turn's wall time into phases that do not overlap. A phase that is entered again adds to its earlier time. */
export class Stopwatch {
  readonly #startedAt: number;
  readonly #now: () => number;
  /** Milliseconds by phase, in the order in which the phases were first entered. */
  readonly #durations = new Map<string, number>();
  #current: string;
  #lapStartedAt: number;

  /** @param now a monotonic clock in milliseconds */
  constructor(now: () => number, firstPhase: string) {
    this.#now = now;
    this.#startedAt = now();
    this.#lapStartedAt = this.#startedAt;
    this.#current = firstPhase;
    this.#durations.set(firstPhase, 0);
  }

  enter(phase: string): void {
    if (phase === this.#current) return;
    this.#recordLap();
    this.#current = phase;
    if (!this.#durations.has(phase)) this.#durations.set(phase, 0);
  }

  /**
   * Moves time from the current phase to the phases in `parts`, whose durations another clock measured. Moves at most the time that the current
   * phase has, so that the phases still add up to the wall time. The time that is left counts for the phase `remainder`, which becomes the
   * current one.
   */
  split(parts: readonly (readonly [phase: string, ms: number])[], remainder: string = this.#current): void {
    this.#recordLap();
    let leftMs = this.#durations.get(this.#current) ?? 0;
    const shares = parts.map(([phase, ms]): [string, number] => {
      const share = Math.min(Math.max(ms, 0), leftMs);
      leftMs -= share;
      return [phase, share];
    });
    if (remainder === this.#current) this.#durations.set(remainder, leftMs);
    else {
      this.#durations.delete(this.#current);
      this.#current = remainder;
      this.#add(remainder, leftMs);
    }
    for (const [phase, share] of shares) this.#add(phase, share);
  }

  /** Omits phases that took no time. */
  get phases(): Phase[] {
    this.#recordLap();
    return [...this.#durations]
      .map(([name, ms]) => ({ name, microseconds: Math.round(ms * 1_000) }))
      .filter(({ microseconds }) => microseconds > 0);
  }

  elapsedMs(): number {
    return Math.round(this.#now() - this.#startedAt);
  }

  #recordLap(): void {
    const now = this.#now();
    this.#add(this.#current, now - this.#lapStartedAt);
    this.#lapStartedAt = now;
  }

  #add(phase: string, ms: number): void {
    this.#durations.set(phase, (this.#durations.get(phase) ?? 0) + ms);
  }
}

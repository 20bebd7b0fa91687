export type Phase = { name: string; microseconds: number };

/**
 * Cuts a turn's wall time into disjoint slices: every moment belongs to the phase that was entered last. A phase that is entered again
 * goes on where it stopped.
 */
export class Stopwatch {
  readonly #startedAt: number;
  readonly #now: () => number;
  /** Milliseconds by phase, in the order in which they were first entered. */
  readonly #slices = new Map<string, number>();
  #current: string;
  #since: number;

  /** Starts in the phase `first`. @param now a monotonic clock in milliseconds. */
  constructor(now: () => number, first: string) {
    this.#now = now;
    this.#startedAt = now();
    this.#since = this.#startedAt;
    this.#current = first;
    this.#slices.set(first, 0);
  }

  /** Ends the phase it is in and begins another. */
  enter(phase: string): void {
    if (phase === this.#current) return;
    this.#lap();
    this.#current = phase;
    if (!this.#slices.has(phase)) this.#slices.set(phase, 0);
  }

  /**
   * Gives of all that the phase it is in has taken to other phases what another clock has measured, in milliseconds: in their order,
   * and never more than there is, so that all phases together stay the wall time. The rest is called `name`.
   */
  split(parts: readonly (readonly [phase: string, ms: number])[], name: string = this.#current): void {
    this.#lap();
    let left = this.#slices.get(this.#current) ?? 0;
    const shares = parts.map(([phase, ms]): [string, number] => {
      const share = Math.min(Math.max(ms, 0), left);
      left -= share;
      return [phase, share];
    });
    if (name === this.#current) this.#slices.set(name, left);
    else {
      this.#slices.delete(this.#current);
      this.#current = name;
      this.#add(name, left);
    }
    for (const [phase, share] of shares) this.#add(phase, share);
  }

  /** The phases until now; those in which no time was spent are left out. */
  get phases(): Phase[] {
    this.#lap();
    return [...this.#slices]
      .map(([name, ms]) => ({ name, microseconds: Math.round(ms * 1_000) }))
      .filter(({ microseconds }) => microseconds > 0);
  }

  /** Whole milliseconds since the start. */
  elapsedMs(): number {
    return Math.round(this.#now() - this.#startedAt);
  }

  #lap(): void {
    const now = this.#now();
    this.#add(this.#current, now - this.#since);
    this.#since = now;
  }

  #add(phase: string, ms: number): void {
    this.#slices.set(phase, (this.#slices.get(phase) ?? 0) + ms);
  }
}

/** What is to be undone at the end. */
export class Closing {
  readonly #closers: (() => Promise<void> | void)[] = [];
  readonly #abandoners: (() => void)[] = [];

  /** `abandon` is for leaving at once: it does not wait, and may come before or after `close`. */
  add(close: () => Promise<void> | void, abandon?: () => void): void {
    this.#closers.push(close);
    if (abandon) this.#abandoners.push(abandon);
  }

  /** Undoes everything, last first, whatever fails; throws the failures together at the end. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, "not everything could be stopped");
  }

  abandon(): void {
    for (const abandon of this.#abandoners) abandon();
  }
}

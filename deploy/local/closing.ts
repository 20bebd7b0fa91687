/** A stack of cleanup functions, which run when the start command stops or fails. */
export class Closing {
  readonly #closers: (() => Promise<void> | void)[] = [];
  readonly #abandoners: (() => void)[] = [];

  /** Adds a cleanup function. For an immediate exit, `abandon` does the same without waiting. It may run before or after `close`. */
  add(close: () => Promise<void> | void, abandon?: () => void): void {
    this.#closers.push(close);
    if (abandon) this.#abandoners.push(abandon);
  }

  /** Runs every cleanup function, last added first, and then throws their errors as one AggregateError. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, "some parts could not be stopped");
  }

  abandon(): void {
    for (const abandon of this.#abandoners) abandon();
  }
}

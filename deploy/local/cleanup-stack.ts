/** Cleanup functions that run when the start command stops or fails. */
export class CleanupStack {
  readonly #cleanups: (() => Promise<void> | void)[] = [];
  readonly #immediateCleanups: (() => void)[] = [];

  /** `closeNow` calls `cleanupNow` before an immediate exit. `cleanupNow` must not wait, and must also work during and after `cleanup`. */
  add(cleanup: () => Promise<void> | void, cleanupNow?: () => void): void {
    this.#cleanups.push(cleanup);
    if (cleanupNow) this.#immediateCleanups.push(cleanupNow);
  }

  /** Runs the cleanup functions in reverse order. Runs all of them even if some fail, and then throws an AggregateError. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let cleanup = this.#cleanups.pop(); cleanup; cleanup = this.#cleanups.pop()) {
      try {
        await cleanup();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, "some cleanup functions failed");
  }

  closeNow(): void {
    for (const cleanupNow of this.#immediateCleanups) cleanupNow();
  }
}

/** In the long run, at most 10 % of the calls are retried. */
const RETRIES_PER_CALL = 0.1;
/** The budget's maximum. It covers the calls in flight when a replica dies. */
const MAX_RETRIES = 50;

/** Limits retries to a share of the calls, so that retries do not multiply the load of a peer that refuses calls. */
export class RetryBudget {
  #retries = MAX_RETRIES;

  recordCall(): void {
    this.#retries = Math.min(MAX_RETRIES, this.#retries + RETRIES_PER_CALL);
  }

  /** Returns false if no retry is left. */
  takeRetry(): boolean {
    if (this.#retries < 1) return false;
    this.#retries--;
    return true;
  }
}

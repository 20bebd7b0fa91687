/** In the long run, at most 10 % of the calls are retried. */
const RETRIES_PER_CALL = 0.1;
/** The most retries in a burst, such as when a replica dies. */
const MAX_RETRY_BURST = 50;

/** Limits retries to a share of the calls, so that retries do not multiply the load of a peer that refuses calls. */
export class RetryBudget {
  #retries = MAX_RETRY_BURST;

  recordCall(): void {
    this.#retries = Math.min(MAX_RETRY_BURST, this.#retries + RETRIES_PER_CALL);
  }

  /** Returns false if no retry is left. */
  takeRetry(): boolean {
    if (this.#retries < 1) return false;
    this.#retries--;
    return true;
  }
}

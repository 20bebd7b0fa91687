/** In the long run, at most 10 % of the calls are retried. */
const RETRIES_PER_CALL = 0.1;
/** The most retries in a burst, such as when a replica dies. */
const MAX_RETRY_BURST = 50;

/** Limits retries to a share of the calls, so that retries do not multiply the load of a peer that refuses calls. */
export class RetryBudget {
  #retriesLeft = MAX_RETRY_BURST;

  recordCall(): void {
    this.#retriesLeft = Math.min(MAX_RETRY_BURST, this.#retriesLeft + RETRIES_PER_CALL);
  }

  /** Returns false if no retry is left. */
  takeRetry(): boolean {
    if (this.#retriesLeft < 1) return false;
    this.#retriesLeft--;
    return true;
  }
}

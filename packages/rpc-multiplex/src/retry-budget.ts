/** How many retries each call adds to the budget: in the long run, at most 10 % of the calls are retried. */
const RETRIES_PER_CALL = 0.1;
/** The most retries that the budget can hold, for the calls in flight when a replica dies. */
const MAX_BURST = 50;

/** Limits retries to a share of the calls, so that a peer that refuses calls does not get a multiple of them. */
export class RetryBudget {
  #retries = MAX_BURST;

  recordCall(): void {
    this.#retries = Math.min(MAX_BURST, this.#retries + RETRIES_PER_CALL);
  }

  /** Takes one retry from the budget. Returns false if none is left. */
  takeRetry(): boolean {
    if (this.#retries < 1) return false;
    this.#retries--;
    return true;
  }
}

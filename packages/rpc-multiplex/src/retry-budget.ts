/** Retries per call in the long run: 10 %. */
const RETRIES_PER_CALL = 0.1;
/** The maximum number of retries in a burst, for the calls in flight when a replica dies. */
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

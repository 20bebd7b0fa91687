import type { BreakerPolicy } from "../settings/index.ts";

export type BreakerState = "closed" | "open" | "half_open";

/** How an admitted request ended. `neutral` shows nothing about the provider, for example because the request was cancelled. */
export type BreakerVerdict = "ok" | "fault" | "neutral";

/**
 * Refuses requests to a provider after consecutive faults. After a cooldown, admits one request at a time: a success closes the breaker, and
 * a fault starts the next cooldown.
 */
export class CircuitBreaker {
  readonly #policy: BreakerPolicy;
  readonly #now: () => number;
  #faults = 0;
  #openedAtMs: number | undefined;
  #isProbing: boolean = false;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(policy: BreakerPolicy, now: () => number) {
    this.#policy = policy;
    this.#now = now;
  }

  get state(): BreakerState {
    if (this.#openedAtMs === undefined) return "closed";
    return this.#now() - this.#openedAtMs < this.#policy.cooldownMs ? "open" : "half_open";
  }

  /** Returns undefined if the breaker refuses the request. Otherwise returns a function that the caller must call once, with the request's verdict. */
  admit(): ((verdict: BreakerVerdict) => void) | undefined {
    const { state } = this;
    if (state === "closed") return (verdict) => this.#recordVerdict(verdict);
    if (state === "open" || this.#isProbing) return undefined;
    this.#isProbing = true;
    return (verdict) => {
      this.#isProbing = false;
      if (verdict === "fault") this.#openedAtMs = this.#now();
      if (verdict === "ok") this.#close();
    };
  }

  #recordVerdict(verdict: BreakerVerdict): void {
    // The breaker has opened since the request was admitted.
    if (this.#openedAtMs !== undefined) return;
    if (verdict === "ok") this.#faults = 0;
    if (verdict === "fault" && ++this.#faults >= this.#policy.failures) this.#openedAtMs = this.#now();
  }

  #close(): void {
    this.#openedAtMs = undefined;
    this.#faults = 0;
  }
}

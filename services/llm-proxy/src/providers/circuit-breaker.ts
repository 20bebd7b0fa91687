import type { BreakerPolicy } from "../settings/index.ts";

export type BreakerState = "closed" | "open" | "half_open";

/** How an admitted request ended. A cancelled request is `neutral`: it shows nothing about the provider. */
export type BreakerVerdict = "ok" | "fault" | "neutral";

/** A circuit breaker: refuses requests to a provider that keeps failing. After a cooldown, admits one request at a time until one succeeds. */
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

  /**
   * Admits a request and returns a function that must be called once with the request's verdict. Returns undefined to refuse the request.
   */
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
    // If the breaker has opened since the request was admitted, the verdict is ignored.
    if (this.#openedAtMs !== undefined) return;
    if (verdict === "ok") this.#faults = 0;
    if (verdict === "fault" && ++this.#faults >= this.#policy.failures) this.#openedAtMs = this.#now();
  }

  #close(): void {
    this.#openedAtMs = undefined;
    this.#faults = 0;
  }
}

import type { BreakerPolicy } from "../settings/index.ts";

export type BreakerState = "closed" | "open" | "half_open";

/** How a call that was let through went: `neutral` when it says nothing of the provider (the caller left). */
export type BreakerVerdict = "ok" | "fault" | "neutral";

/** Stops calls to a provider that keeps failing, and lets one through at a time to see whether it is back. */
export class Breaker {
  readonly #policy: BreakerPolicy;
  readonly #now: () => number;
  #faults = 0;
  #openedAt: number | undefined;
  #probing: boolean = false;

  /** `now` counts milliseconds and never goes back. */
  constructor(policy: BreakerPolicy, now: () => number) {
    this.#policy = policy;
    this.#now = now;
  }

  get state(): BreakerState {
    if (this.#openedAt === undefined) return "closed";
    return this.#now() - this.#openedAt < this.#policy.cooldownMs ? "open" : "half_open";
  }

  /** Lets a call through and takes its verdict once; undefined when it must not be made. */
  admit(): ((verdict: BreakerVerdict) => void) | undefined {
    const { state } = this;
    if (state === "closed") return (verdict) => this.#judge(verdict);
    if (state === "open" || this.#probing) return undefined;
    this.#probing = true;
    return (verdict) => {
      this.#probing = false;
      if (verdict === "fault") this.#openedAt = this.#now();
      if (verdict === "ok") this.#close();
    };
  }

  // Of calls that were let through before it opened, only those that end while it is closed count.
  #judge(verdict: BreakerVerdict): void {
    if (this.#openedAt !== undefined) return;
    if (verdict === "ok") this.#faults = 0;
    if (verdict === "fault" && ++this.#faults >= this.#policy.failures) this.#openedAt = this.#now();
  }

  #close(): void {
    this.#openedAt = undefined;
    this.#faults = 0;
  }
}

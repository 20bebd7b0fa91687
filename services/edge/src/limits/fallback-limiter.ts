import type { Gauge } from "@parley/service-kit";
import type { RateLimiter } from "./rate-limiter.ts";

/** Asks `shared`, and `local` when it does not answer; `onFallback` is 1 while the last answer was a local one. */
export function createFallbackLimiter(shared: RateLimiter, local: RateLimiter, onFallback: Gauge): RateLimiter {
  return {
    async take(policy, subject) {
      try {
        const decision = await shared.take(policy, subject);
        onFallback.set(0);
        return decision;
      } catch {
        onFallback.set(1);
        return local.take(policy, subject);
      }
    },
  };
}

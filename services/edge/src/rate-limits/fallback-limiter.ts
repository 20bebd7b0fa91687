import type { Counter, Gauge } from "@parley/service-kit";
import type { RateLimiter } from "./rate-limiter.ts";

export type FallbackMetrics = {
  /** 1 if the last decision was local, else 0. */
  isOnFallback: Gauge;
  localDecisions: Counter;
};

/** Decides with `shared`, or with `local` if `shared` fails. */
export function createFallbackLimiter(shared: RateLimiter, local: RateLimiter, metrics: FallbackMetrics): RateLimiter {
  return {
    async take(policy, subject) {
      try {
        const decision = await shared.take(policy, subject);
        metrics.isOnFallback.set(0);
        return decision;
      } catch {
        metrics.isOnFallback.set(1);
        metrics.localDecisions.inc();
        return local.take(policy, subject);
      }
    },
  };
}

import { Counter, createRpcClientFailureCounter, Gauge, type Registry } from "@parley/service-kit";
import { createChallengeMetrics } from "./challenges/challenge.metrics.ts";
import { createHttpMetrics } from "./http/plugins/http-metrics.plugin.ts";
import { createStreamMetrics } from "./streams/stream.metrics.ts";

export type Metrics = ReturnType<typeof createMetrics>;

/** No label value comes from a client's input. */
export function createMetrics(registry: Registry, sources: { jwksAgeSeconds: () => number }) {
  const registers = [registry];
  new Gauge({
    name: "parley_jwks_age_seconds",
    help: "Time since the identity provider's keys were last loaded, or since the start if never.",
    registers,
    collect() {
      this.set(sources.jwksAgeSeconds());
    },
  });
  return {
    http: createHttpMetrics(registry),
    streams: createStreamMetrics(registry),
    challenges: createChallengeMetrics(registry),
    rpcFailures: createRpcClientFailureCounter(registry),
    limiter: {
      isOnFallback: new Gauge({
        name: "parley_rate_limiter_on_fallback",
        help: "1 if Redis did not answer for the last request in time, so that this edge counted it locally.",
        registers,
      }),
      localDecisions: new Counter({
        name: "parley_rate_limiter_local_decisions_total",
        help: "Requests that this edge counted locally because Redis did not answer in time.",
        registers,
      }),
    },
  };
}

import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client";

export { Counter, Gauge, Histogram, Registry } from "prom-client";

/** Seconds; from a cache hit to a provider's slowest first token. */
export const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** A registry with the process's own metrics and the service's name on every series. */
export function createRegistry(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** One observation a served RPC, by method and gRPC status. */
export function rpcServerHistogram(registry: Registry): Histogram<"method" | "status"> {
  return new Histogram({
    name: "parley_rpc_server_duration_seconds",
    help: "Time to answer an RPC, by method and gRPC status.",
    labelNames: ["method", "status"],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
}

/** Calls to our own services that failed, as the caller saw it: a peer that is gone cannot count them itself. */
export function rpcClientFailures(registry: Registry): Counter<"method" | "status"> {
  return new Counter({
    name: "parley_rpc_client_failures_total",
    help: "Calls to another service that failed or were cancelled, by method and gRPC status, as their caller saw it.",
    labelNames: ["method", "status"],
    registers: [registry],
  });
}

import { Counter, collectDefaultMetrics, Histogram, type OpenMetricsContentType, Registry } from "prom-client";

export { Counter, Gauge, Histogram, Registry } from "prom-client";

/** In seconds. The shortest bucket is for a cache hit, the longest for a provider's slowest first token. */
export const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/**
 * Starts each series of a counter at 0, for every combination of the labels' values. Otherwise rate() and increase() would miss the first
 * increment of each series, and a panel could not tell "never" from "not measured".
 */
export function startAtZero<L extends string>(
  counter: Pick<Counter<L>, "inc">,
  values: Readonly<Record<L, readonly string[]>>,
): void {
  const combine = (labels: readonly L[]): Partial<Record<L, string>>[] => {
    const [label, ...rest] = labels;
    if (label === undefined) return [{}];
    return values[label].flatMap((value) => combine(rest).map((others) => ({ [label]: value, ...others })));
  };
  for (const series of combine(Object.keys(values) as L[])) counter.inc(series, 0);
}

/** Returns a registry with the process metrics and the label `service` on every series. */
export function createRegistry(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  // With the default precision, 10 ms, event loop monitoring takes most of an idle process's CPU time.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 20 });
  return registry;
}

/** Returns the metrics with their exemplars in the OpenMetrics format. The series have the same names as in Prometheus' format. */
export async function renderOpenMetrics(registry: Registry): Promise<string> {
  const openMetrics = new Registry<OpenMetricsContentType>();
  openMetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of await registry.getMetricsAsJSON()) {
    // In this format, prom-client itself appends `_total` to the names of counters.
    const name = String(metric.type) === "counter" ? metric.name.replace(/_total$/, "") : metric.name;
    const renamed = { ...metric, name };
    openMetrics.registerMetric({ ...renamed, get: async () => renamed } as never);
  }
  return openMetrics.metrics();
}

export function createRpcServerHistogram(registry: Registry): Histogram<"method" | "status"> {
  return new Histogram({
    name: "parley_rpc_server_duration_seconds",
    help: "Time to answer an RPC, by method and gRPC status.",
    labelNames: ["method", "status"],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
}

export function createReloadRefusalCounter(registry: Registry): Counter<"file"> {
  return new Counter({
    name: "parley_reloads_refused_total",
    help: "Failed reloads of changed files, by file name, such as tls.crt, or by variable, such as INTERNAL_TOKEN, OPENAI_API_KEY or LLM_CONFIG. The previous contents stay in use.",
    labelNames: ["file"],
    registers: [registry],
  });
}

/** Does not count deletions that members make through the edge: their lines are part of other transactions. */
export function createAuditLogCounter(registry: Registry): Counter<"kind"> {
  const counter = new Counter({
    name: "parley_audit_log_events_total",
    help: "Events for the audit log by kind: call (of an admin method that changed something), or reload (of a file with configuration, a secret or a certificate). parley audit-log lists them.",
    labelNames: ["kind"],
    registers: [registry],
  });
  startAtZero(counter, { kind: ["call", "reload"] });
  return counter;
}

/** The metrics that `runService` creates and passes to a service's `start` function. */
export type ServiceMetrics = { registry: Registry; reloadRefusals: Counter<"file"> };

export function createServiceMetrics(service: string): ServiceMetrics {
  const registry = createRegistry(service);
  return { registry, reloadRefusals: createReloadRefusalCounter(registry) };
}

/** The caller counts failed calls, because an unavailable peer cannot. */
export function createRpcClientFailureCounter(registry: Registry): Counter<"method" | "status"> {
  return new Counter({
    name: "parley_rpc_client_failures_total",
    help: "Calls to another service that failed or were cancelled, by method and the gRPC status that the caller received.",
    labelNames: ["method", "status"],
    registers: [registry],
  });
}

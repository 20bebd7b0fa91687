import { Counter, DURATION_BUCKETS, Gauge, Histogram, type Registry } from "@parley/service-kit";
import { OperationMetrics } from "./providers/operations.metrics.ts";

export type Metrics = ReturnType<typeof createMetrics>;

const BREAKER_VALUE = { closed: 0, half_open: 1, open: 2 } as const;

type ProviderState = {
  settings: { name: string };
  breaker: { readonly state: keyof typeof BREAKER_VALUE };
};

/** The number of series is bounded: label values are only the names of configured providers and models, and Parley's own codes. */
export function createMetrics(registry: Registry, providers: () => readonly ProviderState[]) {
  const registers = [registry];
  const buckets = DURATION_BUCKETS;
  new Gauge({
    name: "parley_llm_breaker_state",
    help: "A provider's circuit breaker: 0 closed, 1 half open, 2 open.",
    labelNames: ["provider"],
    registers,
    collect() {
      this.reset();
      for (const { settings, breaker } of providers())
        this.set({ provider: settings.name }, BREAKER_VALUE[breaker.state]);
    },
  });
  const metrics = {
    generations: new Counter({
      name: "parley_llm_generations_total",
      help: "Generations by the provider of the last attempt and by outcome.",
      labelNames: ["provider", "outcome"],
      registers,
    }),
    operations: new OperationMetrics(registry),
    queueWait: new Histogram({
      name: "parley_llm_queue_wait_seconds",
      help: "Time that a generation waited for providers' concurrency limits, by the provider of the last attempt.",
      labelNames: ["provider"],
      buckets,
      registers,
    }),
    attemptFailures: new Counter({
      name: "parley_llm_attempt_failures_total",
      help: "Failed attempts by reason and by what followed: retry, failover or end.",
      labelNames: ["provider", "reason", "next"],
      registers,
    }),
    embeddings: new Counter({
      name: "parley_llm_embeddings_total",
      help: "Embed calls by provider and outcome.",
      labelNames: ["provider", "outcome"],
      registers,
    }),
    toolCalls: new Counter({
      name: "parley_llm_tool_calls_total",
      help: "Tool calls by kind (http, mcp, or none for an unknown tool) and status.",
      labelNames: ["kind", "status"],
      registers,
    }),
    toolDuration: new Histogram({
      name: "parley_llm_tool_call_seconds",
      help: "Duration of a tool call, successful or not.",
      labelNames: ["kind"],
      buckets,
      registers,
    }),
    active: new Gauge({ name: "parley_llm_active_generations", help: "Running generations.", registers }),
    configReloads: new Counter({
      name: "parley_llm_config_reloads_total",
      help: "Changes of the LLM_CONFIG file or of a key file by result: applied, or refused (the previous settings stay).",
      labelNames: ["result"],
      registers,
    }),
    callLogFailures: new Counter({
      name: "parley_llm_call_log_failures_total",
      help: "Failed writes of the call log.",
      registers,
    }),
    callLogRows: new Counter({
      name: "parley_llm_call_log_rows_total",
      help: "Rows of the call log by result: stored, late (stored after a failed write), dropped, or filled (was missing, and was added from the turn).",
      labelNames: ["result"],
      registers,
    }),
  };
  // increase() misses the first increment of a new series, so these series start at 0.
  for (const result of ["applied", "refused"]) metrics.configReloads.inc({ result }, 0);
  for (const result of ["stored", "late", "dropped", "filled"]) metrics.callLogRows.inc({ result }, 0);
  return metrics;
}

import { GENERATION_STATUSES } from "@parley/rpc/outcomes";
import { Counter, DURATION_BUCKETS, Gauge, Histogram, type Registry, startAtZero } from "@parley/service-kit";
import { OperationMetrics } from "./providers/operations.metrics.ts";
import { TOOL_STATUSES } from "./tools/tool-call.ts";

export type Metrics = ReturnType<typeof createMetrics>;

const BREAKER_VALUE = { closed: 0, half_open: 1, open: 2 } as const;

type ProviderState = {
  settings: { name: string };
  breaker: { readonly state: keyof typeof BREAKER_VALUE };
};

const GENERATION_OUTCOMES = Object.keys(GENERATION_STATUSES);
/** A model that does not exist or blocked text concerns generations only. */
const EMBEDDING_OUTCOMES = GENERATION_OUTCOMES.filter(
  (outcome) => outcome !== "blocked" && outcome !== "model_unknown",
);

/** The number of series is bounded: label values are only the names of configured providers and models, and Parley's own codes. */
export function createMetrics(registry: Registry, providers: () => readonly ProviderState[]) {
  const registers = [registry];
  // Read for each scrape, because a reload may add providers.
  const providerNames = () => providers().map(({ settings }) => settings.name);
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
      collect() {
        startAtZero(this, { provider: [...providerNames(), "none"], outcome: GENERATION_OUTCOMES });
      },
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
      collect() {
        startAtZero(this, { provider: providerNames(), outcome: EMBEDDING_OUTCOMES });
      },
    }),
    toolCalls: new Counter({
      name: "parley_llm_tool_calls_total",
      help: "Tool calls by kind (http, mcp, builtin for the tool that asks for a person, or none for an unknown tool) and status.",
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
  startAtZero(metrics.configReloads, { result: ["applied", "refused"] });
  startAtZero(metrics.callLogRows, { result: ["stored", "late", "dropped", "filled"] });
  startAtZero(metrics.toolCalls, { kind: ["http", "mcp", "builtin"], status: TOOL_STATUSES });
  startAtZero(metrics.toolCalls, { kind: ["none"], status: ["unknown_tool"] });
  return metrics;
}

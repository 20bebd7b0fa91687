import { Counter, DURATION_BUCKETS, Gauge, Histogram, type Registry } from "@parley/service-kit";

export type Metrics = ReturnType<typeof createMetrics>;

const BREAKER_VALUE = { closed: 0, half_open: 1, open: 2 } as const;

/** What the metrics need to know of a provider. */
type MeteredProvider = {
  settings: { name: string };
  breaker: { readonly state: keyof typeof BREAKER_VALUE };
};

/** The service's own series. Labels hold names of configured providers and words of ours, so that their number stays bounded. */
export function createMetrics(registry: Registry, providers: () => readonly MeteredProvider[]) {
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
  return {
    calls: new Counter({
      name: "parley_llm_generations_total",
      help: "Replies by the provider that gave them, or was tried last, and how they ended.",
      labelNames: ["provider", "outcome"],
      registers,
    }),
    firstToken: new Histogram({
      name: "parley_llm_first_token_seconds",
      help: "Time from the request to the first text of a reply, waiting and retries included.",
      labelNames: ["provider"],
      buckets,
      registers,
    }),
    duration: new Histogram({
      name: "parley_llm_generation_duration_seconds",
      help: "Time from the request to the end of a reply.",
      labelNames: ["provider", "outcome"],
      buckets,
      registers,
    }),
    queueWait: new Histogram({
      name: "parley_llm_queue_wait_seconds",
      help: "Time a reply waited for a place at its providers.",
      labelNames: ["provider"],
      buckets,
      registers,
    }),
    attemptFailures: new Counter({
      name: "parley_llm_attempt_failures_total",
      help: "Calls to a provider that failed, by why and by what was done next: retry, failover or end.",
      labelNames: ["provider", "reason", "next"],
      registers,
    }),
    tokens: new Counter({
      name: "parley_llm_tokens_total",
      help: "Tokens by provider and direction (in, out).",
      labelNames: ["provider", "direction"],
      registers,
    }),
    embeddings: new Counter({
      name: "parley_llm_embeddings_total",
      help: "Calls for embeddings by provider and how they ended.",
      labelNames: ["provider", "outcome"],
      registers,
    }),
    embeddingDuration: new Histogram({
      name: "parley_llm_embedding_seconds",
      help: "Time until texts had become vectors, waiting and retries included.",
      labelNames: ["provider"],
      buckets,
      registers,
    }),
    embeddingTokens: new Counter({
      name: "parley_llm_embedding_tokens_total",
      help: "Tokens of the texts that became vectors, as the provider counts them.",
      labelNames: ["provider"],
      registers,
    }),
    toolCalls: new Counter({
      name: "parley_llm_tool_calls_total",
      help: "Calls of tools by kind (http, mcp, or none when the model called what there is not) and how they went.",
      labelNames: ["kind", "status"],
      registers,
    }),
    toolDuration: new Histogram({
      name: "parley_llm_tool_call_seconds",
      help: "Time until a tool had answered, or failed to.",
      labelNames: ["kind"],
      buckets,
      registers,
    }),
    active: new Gauge({ name: "parley_llm_active_generations", help: "Replies being streamed.", registers }),
    configReloads: new Counter({
      name: "parley_llm_config_reloads_total",
      help: "Changes of LLM_CONFIG: applied, or refused with what was in force left as it is.",
      labelNames: ["result"],
      registers,
    }),
    ledgerFailures: new Counter({
      name: "parley_llm_call_log_failures_total",
      help: "Writes of the call ledger that failed.",
      registers,
    }),
    ledgerRows: new Counter({
      name: "parley_llm_call_log_rows_total",
      help: "Rows of the call ledger: stored, late (stored after a failed try) or dropped.",
      labelNames: ["result"],
      registers,
    }),
  };
}

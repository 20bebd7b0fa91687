import { Counter, exemplarLabels, Histogram, type Registry } from "@parley/service-kit";

// The histograms' names, labels and buckets follow OpenTelemetry's conventions for generative AI, with Prometheus's spelling of the names.
const TOKEN_BUCKETS = Array.from({ length: 14 }, (_, index) => 4 ** index);
const SECONDS_BUCKETS = Array.from({ length: 14 }, (_, index) => 2 ** index / 100);
const OPERATION_LABELS = ["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"] as const;
const MODEL_LABELS = ["gen_ai_provider_name", "gen_ai_request_model"] as const;

/** One request to a provider. */
export type Operation = {
  name: "chat" | "embeddings";
  provider: string;
  /** The model's label: see ProviderCatalog.getModelLabel. */
  model: string;
};

/** Metrics of the requests to providers. If the active span is recorded, each observation of a histogram has the span's ids as its exemplar. */
export class OperationMetrics {
  readonly #duration: Histogram;
  readonly #firstChunk: Histogram;
  readonly #tokens: Histogram;
  readonly #cost: Counter;

  constructor(registry: Registry) {
    // Histogram's constructor refuses exemplars if `registers` contains a registry whose default format is not OpenMetrics. So registerMetric
    // below registers the histograms.
    const options = { registers: [], enableExemplars: true };
    this.#duration = new Histogram({
      name: "gen_ai_client_operation_duration_seconds",
      help: "Duration of a request to a provider, without the wait for the provider's concurrency limit. error_type is the reason of a failure, or empty.",
      labelNames: [...OPERATION_LABELS, "error_type"],
      buckets: SECONDS_BUCKETS,
      ...options,
    });
    this.#firstChunk = new Histogram({
      name: "gen_ai_client_operation_time_to_first_chunk_seconds",
      help: "Time between a request to a provider and the first text of its response.",
      labelNames: OPERATION_LABELS,
      buckets: SECONDS_BUCKETS,
      ...options,
    });
    this.#tokens = new Histogram({
      name: "gen_ai_client_token_usage",
      help: "Tokens of a request (gen_ai_token_type input) and of its response (output): the provider's counts, or else Parley's.",
      labelNames: [...OPERATION_LABELS, "gen_ai_token_type"],
      buckets: TOKEN_BUCKETS,
      ...options,
    });
    for (const histogram of [this.#duration, this.#firstChunk, this.#tokens]) registry.registerMetric(histogram);
    this.#cost = new Counter({
      name: "parley_llm_cost_total",
      help: "Cost of completions by the prices of LLM_CONFIG, in their currency. Models without a price are not included.",
      labelNames: MODEL_LABELS,
      registers: [registry],
    });
  }

  recordDuration(operation: Operation, durationMs: number, errorType = ""): void {
    this.#observe(this.#duration, { ...toLabels(operation), error_type: errorType }, durationMs / 1_000);
  }

  recordFirstChunk(operation: Operation, waitMs: number): void {
    this.#observe(this.#firstChunk, toLabels(operation), waitMs / 1_000);
  }

  recordTokens(operation: Operation, type: "input" | "output", count: number): void {
    if (count > 0) this.#observe(this.#tokens, { ...toLabels(operation), gen_ai_token_type: type }, count);
  }

  recordCost({ provider, model }: Operation, cost: number): void {
    this.#cost.inc({ gen_ai_provider_name: provider, gen_ai_request_model: model }, cost);
  }

  #observe(histogram: Histogram, labels: Record<string, string>, value: number): void {
    histogram.observe({ labels, value, exemplarLabels: exemplarLabels() });
  }
}

function toLabels({ name, provider, model }: Operation): Record<(typeof OPERATION_LABELS)[number], string> {
  return { gen_ai_operation_name: name, gen_ai_provider_name: provider, gen_ai_request_model: model };
}

export { AttemptTimer } from "./attempt-timer.ts";
export type { Candidate, EmbeddingModel, ProviderCatalog } from "./catalog.service.ts";
export type { BreakerVerdict } from "./circuit-breaker.ts";
export { GenerationCancelled, ProviderFailure } from "./failure.ts";
export type { Operation } from "./operations.metrics.ts";
export type { Embeddings, StopCause, Usage } from "./provider.ts";
export { renderPrompt } from "./render-prompt.ts";
export { computeRetryDelayMs } from "./retry.ts";
export type { Sink, TextSink } from "./text-sink.ts";

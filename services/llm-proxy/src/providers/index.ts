export type { BreakerVerdict } from "./breaker.ts";
export type { Candidate, Catalog, EmbeddingModel } from "./catalog.service.ts";
export { CallCancelled, ProviderFailure } from "./failure.ts";
export type { Embeddings, Usage } from "./provider.ts";
export { renderPrompt } from "./render-prompt.ts";
export { retryDelayMs } from "./retry.ts";
export type { Sink, TextSink } from "./text-sink.ts";
export { Watchdog } from "./watchdog.ts";

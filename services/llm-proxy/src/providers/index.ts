export type { BreakerVerdict } from "./breaker.ts";
export type { Candidate, Catalog } from "./catalog.service.ts";
export { CallCancelled, type FailureCode, ProviderFailure } from "./failure.ts";
export type { Embedded, Usage } from "./provider.ts";
export { renderPrompt } from "./render-prompt.ts";
export { retryDelayMs } from "./retry.ts";
export type { Take } from "./text-sink.ts";
export { Watchdog } from "./watchdog.ts";

import type { RetryPolicy } from "../settings/index.ts";
import type { ProviderFailure } from "./failure.ts";

/**
 * How long to wait before asking the same model again after its `attempts`-th failure, in ms; undefined when it is not to be asked
 * again. `random` is in [0, 1): the wait is spread over its upper half, so that callers refused together do not come back together.
 */
export function retryDelayMs(
  failure: ProviderFailure,
  attempts: number,
  policy: RetryPolicy,
  random: number,
): number | undefined {
  if (!failure.retryable || attempts >= policy.maxAttempts) return undefined;
  const backoffMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempts - 1));
  const jitteredMs = backoffMs * (0.5 + random / 2);
  const { retryAfterMs } = failure;
  if (retryAfterMs === undefined) return jitteredMs;
  // Coming back early would be refused again, so a wait beyond our patience ends it.
  return retryAfterMs > policy.maxRetryAfterMs ? undefined : retryAfterMs + jitteredMs * random;
}

/** Reads Retry-After (seconds or an HTTP date) or retry-after-ms; undefined when there is none that makes sense. */
export function retryAfterMs(headers: Pick<Headers, "get">, nowMs: number): number | undefined {
  const milliseconds = decimal(headers.get("retry-after-ms"));
  if (milliseconds !== undefined) return milliseconds;
  const text = headers.get("retry-after");
  const seconds = decimal(text);
  if (seconds !== undefined) return seconds * 1_000;
  const date = Date.parse(text ?? "");
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function decimal(text: unknown): number | undefined {
  return typeof text === "string" && /^\s*\d{1,9}(\.\d{1,9})?\s*$/.test(text) ? Number(text) : undefined;
}

import { backoffMs } from "@parley/service-kit";
import type { RetryPolicy } from "../settings/index.ts";
import type { ProviderFailure } from "./failure.ts";

/**
 * Returns the wait in milliseconds before the next attempt with the same model; undefined for no retry. The wait is 50 to 100 % of the
 * backoff. If the provider sent Retry-After, the wait is that time plus up to one backoff. `attempts` is the number of failed attempts.
 * `random`, in [0, 1), is the jitter.
 */
export function computeRetryDelayMs(
  failure: ProviderFailure,
  attempts: number,
  policy: RetryPolicy,
  random: number,
): number | undefined {
  if (!failure.isRetryable || attempts >= policy.maxAttempts) return undefined;
  const delayMs = backoffMs(attempts, policy.baseDelayMs, policy.maxDelayMs);
  const { retryAfterMs } = failure;
  if (retryAfterMs === undefined) return delayMs * (0.5 + random / 2);
  return retryAfterMs > policy.maxRetryAfterMs ? undefined : retryAfterMs + delayMs * random;
}

/** The only date format that RFC 9110 lets servers send. Date.parse accepts other texts too: it reads "-1" and "wait 60" as past dates. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Reads retry-after-ms or Retry-After (seconds or an HTTP date). Returns undefined if neither header is present and valid. */
export function readRetryAfterMs(headers: Pick<Headers, "get">, nowMs: number): number | undefined {
  const milliseconds = parseDecimal(headers.get("retry-after-ms"));
  if (milliseconds !== undefined) return milliseconds;
  const text = headers.get("retry-after");
  const seconds = parseDecimal(text);
  if (seconds !== undefined) return seconds * 1_000;
  const date = text !== null && HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function parseDecimal(text: string | null): number | undefined {
  return text !== null && /^\s*\d{1,9}(\.\d{1,9})?\s*$/.test(text) ? Number(text) : undefined;
}

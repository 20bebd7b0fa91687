import { withJitter } from "@parley/service-kit";
import { type Attempt, MAX_ATTEMPTS } from "./webhook.ts";

const MINUTE = 60;
const HOUR = 3_600;
/** The waits after the failed attempts, in seconds: together about 72 hours. */
const WAITS = [
  10,
  MINUTE,
  5 * MINUTE,
  20 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  12 * HOUR,
  20 * HOUR,
  24 * HOUR,
];
const MAX_RETRY_AFTER = 24 * HOUR;

/** Returns the seconds until the attempt after `attempts` failed ones; undefined if there is none. Also the schedule of e-mail, with fewer attempts. */
export function retrySeconds(
  attempts: number,
  { retryAfterSeconds = 0 }: Partial<Attempt> = {},
  maxAttempts: number = MAX_ATTEMPTS,
): number | undefined {
  const wait = attempts < maxAttempts ? WAITS[attempts - 1] : undefined;
  return wait === undefined ? undefined : Math.max(withJitter(wait), Math.min(retryAfterSeconds, MAX_RETRY_AFTER));
}

/** Returns the seconds for which an overloaded endpoint gets no event at all. */
export function pauseSeconds({ status, retryAfterSeconds }: Attempt): number {
  if (status !== 429 && status !== 503) return 0;
  return Math.min(retryAfterSeconds ?? (status === 429 ? 10 : 0), MAX_RETRY_AFTER);
}

/** Reads a Retry-After header: seconds, or an HTTP date. */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const seconds = Math.ceil((Date.parse(text) - now) / 1_000);
  return seconds > 0 ? seconds : undefined;
}

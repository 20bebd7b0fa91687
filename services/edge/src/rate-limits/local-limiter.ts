import type { Decision, Policy, RateLimiter } from "./rate-limiter.ts";

/** Memory bounds: the number of pairs of policy and subject, and the total number of requests. A request takes 8 bytes. */
const CAPS = { subjects: 100_000, requests: 6_000_000 };

/**
 * Creates a sliding-log limiter in memory. It counts only the requests of this process. Used without Redis and while Redis is unavailable.
 * @param now a monotonic clock in milliseconds.
 */
export function createLocalLimiter(now: () => number, caps = CAPS): RateLimiter {
  // In order of last use, so that the least recently used subject is evicted first.
  const timestampsByKey = new Map<string, number[]>();
  let requestCount = 0;

  function evict(): void {
    for (const [key, timestamps] of timestampsByKey) {
      if (timestampsByKey.size <= caps.subjects && requestCount <= caps.requests) return;
      timestampsByKey.delete(key);
      requestCount -= timestamps.length;
    }
  }

  function take(policy: Policy, subject: string): Decision {
    const key = `${policy.name} ${subject}`;
    const nowMs = now();
    const previous = timestampsByKey.get(key) ?? [];
    const timestamps = previous.filter((time) => time > nowMs - policy.windowMs);
    const isAllowed = timestamps.length < policy.limit;
    if (isAllowed) timestamps.push(nowMs);
    timestampsByKey.delete(key);
    timestampsByKey.set(key, timestamps);
    requestCount += timestamps.length - previous.length;
    evict();
    // `resetMs` after an allowed request: the time until the window is empty. After a refusal: the time until the oldest request leaves the
    // window.
    const requestAtMs = (isAllowed ? timestamps.at(-1) : timestamps[0]) ?? nowMs;
    return { isAllowed, remaining: policy.limit - timestamps.length, resetMs: requestAtMs + policy.windowMs - nowMs };
  }

  return { take: async (policy, subject) => take(policy, subject) };
}

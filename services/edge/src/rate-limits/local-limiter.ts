import { type CountedRequest, type Decision, type Policy, type RateLimiter, toCountedRequest } from "./rate-limiter.ts";

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

  /** Returns the requests of a bucket in the current window, oldest first. */
  function readWindow(key: string, windowStartMs: number): number[] {
    const previous = timestampsByKey.get(key) ?? [];
    const timestamps = previous.filter((time) => time > windowStartMs);
    timestampsByKey.delete(key);
    timestampsByKey.set(key, timestamps);
    requestCount += timestamps.length - previous.length;
    return timestamps;
  }

  function take(policy: Policy, subject: string | CountedRequest): Decision {
    const nowMs = now();
    const { scope = "", buckets } = toCountedRequest(subject);
    const windows = buckets.map(({ bucket, factor, windowMs = policy.windowMs }) => {
      const windowStartMs = nowMs - windowMs;
      const timestamps = readWindow(`${policy.name} ${scope} ${bucket}`, windowStartMs);
      return { bucket, windowMs, windowStartMs, timestamps, remaining: policy.limit * factor - timestamps.length };
    });
    // A refused request waits until each full bucket has room. If the limit was lowered, more than the oldest request must leave the window.
    const full = windows
      .filter(({ remaining }) => remaining <= 0)
      .map(({ bucket, windowStartMs, timestamps, remaining }) => ({
        bucket,
        resetMs: (timestamps[-remaining] ?? nowMs) - windowStartMs,
      }))
      .toSorted((a, b) => b.resetMs - a.resetMs)[0];
    if (full === undefined) {
      for (const { timestamps } of windows) timestamps.push(nowMs);
      requestCount += windows.length;
    }
    evict();
    if (full !== undefined) return { refusedBucket: full.bucket, remaining: 0, resetMs: full.resetMs };
    const remaining = Math.min(...windows.map((each) => each.remaining)) - 1;
    return { refusedBucket: undefined, remaining, resetMs: Math.max(...windows.map(({ windowMs }) => windowMs)) };
  }

  return { take: async (policy, subject) => take(policy, subject) };
}

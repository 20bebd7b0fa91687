import type { Decision, Policy, RateLimiter } from "./rate-limiter.ts";

/** Memory bounds: the number of subjects, and of requests of all subjects together (8 bytes each). */
const CAPS = { subjects: 100_000, requests: 6_000_000 };

/**
 * Creates a sliding-log limiter in this process's memory, exact for one process. Used without Redis and while Redis is unavailable.
 * @param now a monotonic clock in milliseconds.
 */
export function createLocalLimiter(now: () => number, caps = CAPS): RateLimiter {
  // In order of last use, so that the least recently used subject is evicted first.
  const logs = new Map<string, number[]>();
  let requests = 0;

  function evict(): void {
    for (const [key, log] of logs) {
      if (logs.size <= caps.subjects && requests <= caps.requests) return;
      logs.delete(key);
      requests -= log.length;
    }
  }

  function take(policy: Policy, subject: string): Decision {
    const key = `${policy.name} ${subject}`;
    const at = now();
    const previous = logs.get(key) ?? [];
    const log = previous.filter((time) => time > at - policy.windowMs);
    const allowed = log.length < policy.limit;
    if (allowed) log.push(at);
    logs.delete(key);
    logs.set(key, log);
    requests += log.length - previous.length;
    evict();
    const windowStart = (allowed ? log.at(-1) : log[0]) ?? at;
    return { allowed, remaining: policy.limit - log.length, resetMs: windowStart + policy.windowMs - at };
  }

  return { take: async (policy, subject) => take(policy, subject) };
}

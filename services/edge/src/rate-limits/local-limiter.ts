import type { Decision, Policy, RateLimiter } from "./rate-limiter.ts";

/** What a limiter remembers at most: subjects, and requests of all subjects together at 8 bytes each. */
const CAPS = { subjects: 100_000, requests: 6_000_000 };

/**
 * A sliding log in this process's memory: exact for one process. Used on one machine, and while Redis is away.
 * @param now a monotonic clock in milliseconds.
 */
export function createLocalLimiter(now: () => number, caps = CAPS): RateLimiter {
  // Oldest use first, so that what is dropped at the caps has been silent longest.
  const logs = new Map<string, number[]>();
  let requests = 0;

  function dropOldest(): void {
    for (const [key, log] of logs) {
      if (logs.size <= caps.subjects && requests <= caps.requests) return;
      logs.delete(key);
      requests -= log.length;
    }
  }

  function take(policy: Policy, subject: string): Decision {
    const key = `${policy.name} ${subject}`;
    const at = now();
    const known = logs.get(key) ?? [];
    const log = known.filter((time) => time > at - policy.windowMs);
    const allowed = log.length < policy.limit;
    if (allowed) log.push(at);
    logs.delete(key);
    logs.set(key, log);
    requests += log.length - known.length;
    dropOldest();
    const until = (allowed ? log.at(-1) : log[0]) ?? at;
    return { allowed, remaining: policy.limit - log.length, resetMs: until + policy.windowMs - at };
  }

  return { take: async (policy, subject) => take(policy, subject) };
}

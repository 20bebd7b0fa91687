import type { Decision, Policy, RateLimiter } from "./rate-limiter.ts";

const MAX_SUBJECTS = 100_000;

/**
 * A sliding log in this process's memory: exact for one process. Used on one machine, and while Redis is away.
 * @param now a monotonic clock in milliseconds.
 */
export function createLocalLimiter(now: () => number): RateLimiter {
  // Oldest use first, so that what is dropped at the size limit has been silent longest.
  const logs = new Map<string, number[]>();

  function take(policy: Policy, subject: string): Decision {
    const key = `${policy.name} ${subject}`;
    const at = now();
    const log = (logs.get(key) ?? []).filter((time) => time > at - policy.windowMs);
    const allowed = log.length < policy.limit;
    if (allowed) log.push(at);
    logs.delete(key);
    logs.set(key, log);
    if (logs.size > MAX_SUBJECTS) logs.delete(logs.keys().next().value ?? "");
    const until = (allowed ? log.at(-1) : log[0]) ?? at;
    return { allowed, remaining: policy.limit - log.length, resetMs: until + policy.windowMs - at };
  }

  return { take: async (policy, subject) => take(policy, subject) };
}

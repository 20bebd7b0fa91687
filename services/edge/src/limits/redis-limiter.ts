import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Logger } from "@parley/service-kit";
import { Redis } from "ioredis";
import type { Decision, Policy, RateLimiter } from "./rate-limiter.ts";

const SCRIPT = readFileSync(new URL("./sliding-window.lua", import.meta.url), "utf8");
const ANSWER_WITHIN_MS = 50;

type Answer = [allowed: 0 | 1, remaining: number, resetMs: number];
type RedisWithScript = Redis & {
  slidingWindow(key: string, limit: number, windowMs: number, member: string): Promise<Answer>;
};

/** A limiter that is exact over every process that shares the Redis; it rejects when Redis does not answer within 50 ms. */
export type RedisLimiter = RateLimiter & { close(): void };

export function createRedisLimiter(url: string, log: Logger): RedisLimiter {
  const redis = new Redis(url, {
    connectionName: "parley-edge",
    // A command resent after a reconnect would count twice, and one that waits in a queue would hold a visitor up.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1_000,
    retryStrategy: (attempt) => Math.min(100 * attempt, 1_000),
  }) as RedisWithScript;
  redis.defineCommand("slidingWindow", { numberOfKeys: 1, lua: SCRIPT });
  let away = false;
  redis.on("error", (error) => {
    if (!away) log.warn({ error }, "redis is away: each edge limits alone");
    away = true;
  });
  redis.on("ready", () => {
    if (away) log.info("redis is back");
    away = false;
  });

  return {
    async take(policy: Policy, subject: string): Promise<Decision> {
      const key = `parley:rate:${policy.name}:${subject}`;
      const answer = redis.slidingWindow(key, policy.limit, policy.windowMs, randomUUID());
      const [allowed, remaining, resetMs] = await inTime(answer, ANSWER_WITHIN_MS);
      return { allowed: allowed === 1, remaining, resetMs };
    },
    close: () => redis.disconnect(),
  };
}

/** Rejects when the answer is not here in time. What has arrived while this process was busy is read first: that is not Redis' delay. */
function inTime<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(new Error("redis did not answer in time"))), timeoutMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

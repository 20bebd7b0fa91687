import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Logger, withSpan } from "@parley/service-kit";
import { Redis } from "ioredis";
import type { Decision, Policy, RateLimiter } from "./rate-limiter.ts";

const SCRIPT = readFileSync(new URL("./sliding-window.lua", import.meta.url), "utf8");
const ANSWER_WITHIN_MS = 50;
/** A Redis that has been silent for so long is not waited for any more, until it says something. */
const SILENT_AFTER_MS = 200;
/** A connection on which nothing is answered for so long is given up for a new one: what is lost on its way does not say so. */
const DEAD_AFTER_MS = 2_000;
const SPAN = { kind: "client", attributes: { "db.system.name": "redis", "db.operation.name": "EVALSHA" } } as const;

type Answer = [allowed: 0 | 1, remaining: number, resetMs: number];
type RedisWithScript = Redis & {
  slidingWindow(key: string, limit: number, windowMs: number, member: string): Promise<Answer>;
};

/** A limiter that is exact over every process that shares the Redis; it rejects when Redis does not answer within 50 ms, or is known not to. */
export type RedisLimiter = RateLimiter & { close(): void };

export function createRedisLimiter(url: string, log: Logger): RedisLimiter {
  const redis = new Redis(url, {
    connectionName: "parley-edge",
    // A command resent after a reconnect would count twice, and one that waits in a queue would hold a visitor up.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1_000,
    socketTimeout: DEAD_AFTER_MS,
    retryStrategy: (attempt) => Math.min(100 * attempt, 1_000),
  }) as RedisWithScript;
  redis.defineCommand("slidingWindow", { numberOfKeys: 1, lua: SCRIPT });
  let away = false;
  /** The answer that has been waited for longest; the others come after it. */
  let overdue: Promise<Answer> | undefined;
  let silent = false;

  function watch(answer: Promise<Answer>): void {
    if (overdue !== undefined) return;
    overdue = answer;
    const timer = afterReading(SILENT_AFTER_MS - ANSWER_WITHIN_MS, () => {
      silent = overdue === answer;
    });
    const here = () => {
      clearTimeout(timer);
      overdue = undefined;
      silent = false;
    };
    answer.then(here, here);
  }

  redis.on("error", (error) => {
    if (!away) log.warn({ error }, "redis is away: each edge limits alone");
    away = true;
  });
  redis.on("ready", () => {
    if (away) log.info("redis is back");
    away = false;
  });

  return {
    take: (policy, subject) => withSpan("sliding_window", SPAN, () => take(policy, subject)),
    close: () => redis.disconnect(),
  };

  async function take(policy: Policy, subject: string): Promise<Decision> {
    if (silent) throw new Error("redis is silent");
    const key = `parley:rate:${policy.name}:${subject}`;
    const answer = redis.slidingWindow(key, policy.limit, policy.windowMs, randomUUID());
    const [allowed, remaining, resetMs] = await inTime(answer, ANSWER_WITHIN_MS, () => watch(answer));
    return { allowed: allowed === 1, remaining, resetMs };
  }
}

/** Rejects when the answer is not here in time, and tells so. */
function inTime<T>(answer: Promise<T>, timeoutMs: number, onLate: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let isHere = false;
    const timer = afterReading(timeoutMs, () => {
      if (isHere) return;
      onLate();
      reject(new Error("redis did not answer in time"));
    });
    const here = () => {
      isHere = true;
      clearTimeout(timer);
    };
    answer.then(resolve, reject).finally(here);
  });
}

/** What has arrived while this process was busy is read before the time is up: that is not Redis' delay. */
function afterReading(timeoutMs: number, work: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(work), timeoutMs);
}

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Logger, withSpan } from "@parley/service-kit";
import type { Cluster, Redis } from "ioredis";
import type { Decision, Policy, RateLimiter } from "./rate-limiter.ts";
import { connectRedis } from "./redis.client.ts";
import type { RedisSettings } from "./redis-settings.ts";

const LUA_SCRIPT = readFileSync(new URL("./sliding-window.lua", import.meta.url), "utf8");
const REPLY_TIMEOUT_MS = 50;
/** After this long without any reply, requests fail at once until Redis replies again. */
const UNRESPONSIVE_AFTER_MS = 200;
const SPAN_OPTIONS = {
  kind: "client",
  attributes: { "db.system.name": "redis", "db.operation.name": "EVALSHA" },
} as const;

type Reply = [allowed: 0 | 1, remaining: number, resetMs: number];
type RedisWithScript = (Redis | Cluster) & {
  slidingWindow(key: string, limit: number, windowMs: number, member: string): Promise<Reply>;
};

/** Rejects if Redis does not reply within 50 ms, or at once while Redis is unresponsive. */
export type RedisLimiter = RateLimiter & { close(): void };

/** Creates a limiter that is exact across all processes that share the Redis. */
export function createRedisLimiter(settings: RedisSettings, log: Logger): RedisLimiter {
  const redis = connectRedis(settings) as RedisWithScript;
  redis.defineCommand("slidingWindow", { numberOfKeys: 1, lua: LUA_SCRIPT });
  let isDisconnected = false;
  /** The oldest late reply. Redis replies in order, so it is enough to watch this one. */
  let oldestLateReply: Promise<Reply> | undefined;
  let isUnresponsive = false;

  function watchLateReply(reply: Promise<Reply>): void {
    if (oldestLateReply !== undefined) return;
    oldestLateReply = reply;
    const timer = setTimeoutAfterIo(UNRESPONSIVE_AFTER_MS - REPLY_TIMEOUT_MS, () => {
      isUnresponsive = oldestLateReply === reply;
    });
    const onSettled = () => {
      clearTimeout(timer);
      oldestLateReply = undefined;
      isUnresponsive = false;
    };
    reply.then(onSettled, onSettled);
  }

  redis.on("error", (error) => {
    if (!isDisconnected) log.warn({ error }, "redis connection lost, limiting locally");
    isDisconnected = true;
  });
  redis.on("ready", () => {
    if (isDisconnected) log.info("redis connection restored");
    isDisconnected = false;
  });

  return {
    take: (policy, subject) => withSpan("sliding_window", SPAN_OPTIONS, () => take(policy, subject)),
    close: () => redis.disconnect(),
  };

  async function take(policy: Policy, subject: string): Promise<Decision> {
    if (isUnresponsive) throw new Error("redis is unresponsive");
    const key = `parley:rate:${policy.name}:${subject}`;
    const reply = redis.slidingWindow(key, policy.limit, policy.windowMs, randomUUID());
    const [allowed, remaining, resetMs] = await withTimeout(reply, REPLY_TIMEOUT_MS, () => watchLateReply(reply));
    return { isAllowed: allowed === 1, remaining, resetMs };
  }
}

/** Rejects and calls `onTimeout` if the reply does not arrive in time. */
function withTimeout<T>(reply: Promise<T>, timeoutMs: number, onTimeout: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let hasSettled = false;
    const timer = setTimeoutAfterIo(timeoutMs, () => {
      if (hasSettled) return;
      onTimeout();
      reject(new Error("redis did not reply in time"));
    });
    const onSettled = () => {
      hasSettled = true;
      clearTimeout(timer);
    };
    reply.then(resolve, reject).finally(onSettled);
  });
}

/**
 * Like setTimeout, but lets pending I/O run first. ioredis' own commandTimeout does not: after a busy period of this process it rejects
 * replies that have already arrived, and 600 simultaneous requests then do not all get a decision.
 */
function setTimeoutAfterIo(timeoutMs: number, work: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(work), timeoutMs);
}

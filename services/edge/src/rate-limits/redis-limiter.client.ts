import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Logger, withSpan } from "@parley/service-kit";
import type { Cluster, Redis } from "ioredis";
import { type CountedRequest, type Decision, type Policy, type RateLimiter, toCountedRequest } from "./rate-limiter.ts";
import { connectRedis } from "./redis.client.ts";
import type { RedisSettings } from "./redis-settings.ts";

const LUA_SCRIPT = readFileSync(new URL("./sliding-window.lua", import.meta.url), "utf8");
const REPLY_TIMEOUT_MS = 50;
/** If a command's reply takes longer than this, `take` rejects immediately until that reply arrives or fails. */
const UNRESPONSIVE_AFTER_MS = 200;
const SPAN_OPTIONS = {
  kind: "client",
  attributes: { "db.system.name": "redis", "db.operation.name": "EVALSHA" },
} as const;

/** How long a replaced connection stays open, so that pending replies can arrive. */
const RETIRE_AFTER_MS = 1_000;

/** `refusing` is the number of the bucket that refuses the request, from 1, or 0. */
type Reply = [refusing: number, remaining: number, resetMs: number];
type RedisWithScript = (Redis | Cluster) & {
  slidingWindow(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<Reply>;
};

/** A limiter whose `take` rejects if Redis does not reply within 50 ms, or immediately while Redis is unresponsive. */
export type RedisLimiter = RateLimiter & {
  /**
   * Connects with other settings. The current connection stays in use until the new one is ready. Until then the limiter keeps trying to
   * connect, and calls `onFailure` for the first failure.
   */
  reconnect(settings: RedisSettings, onFailure: (error: Error) => void): void;
  /** Returns the current connection, for other data. Its commands share the connection with `take`, so they must be few and fast. */
  connection(): Redis | Cluster;
  close(): void;
};

/** Creates a limiter that is exact across all processes that share the Redis. */
export function createRedisLimiter(settings: RedisSettings, log: Logger): RedisLimiter {
  let current = openConnection(settings);
  logOutages(current.redis, log);
  let next: Connection | undefined;
  return {
    take: (policy, subject) => withSpan("sliding_window", SPAN_OPTIONS, () => current.take(policy, subject)),
    reconnect(changed, onFailure) {
      next?.redis.disconnect();
      const candidate = openConnection(changed);
      next = candidate;
      let hasFailed = false;
      candidate.redis.on("error", (error) => {
        if (next !== candidate || hasFailed) return;
        hasFailed = true;
        onFailure(error);
      });
      candidate.redis.once("ready", () => {
        if (next !== candidate) return;
        const { redis: previous } = current;
        [current, next] = [candidate, undefined];
        logOutages(current.redis, log);
        setTimeout(() => previous.disconnect(), RETIRE_AFTER_MS).unref();
        log.info("redis connection replaced");
      });
    },
    connection: () => current.redis,
    close() {
      next?.redis.disconnect();
      current.redis.disconnect();
    },
  };
}

function logOutages(redis: RedisWithScript, log: Logger): void {
  let isDisconnected = false;
  redis.on("error", (error) => {
    if (!isDisconnected) log.warn({ error }, "redis connection lost, limiting locally");
    isDisconnected = true;
  });
  redis.on("ready", () => {
    if (isDisconnected) log.info("redis connection restored");
    isDisconnected = false;
  });
}

type Connection = { redis: RedisWithScript; take: RateLimiter["take"] };

function openConnection(settings: RedisSettings): Connection {
  const redis = connectRedis(settings) as RedisWithScript;
  redis.defineCommand("slidingWindow", { lua: LUA_SCRIPT });
  /**
   * Only the first late reply is watched: a Redis server replies in order, so replies to later commands cannot arrive before it. In a cluster,
   * one slow server makes the whole cluster count as unresponsive.
   */
  let watchedReply: Promise<Reply> | undefined;
  let isUnresponsive = false;

  function watchLateReply(reply: Promise<Reply>): void {
    if (watchedReply !== undefined) return;
    watchedReply = reply;
    const timer = setTimeoutAfterIo(UNRESPONSIVE_AFTER_MS - REPLY_TIMEOUT_MS, () => {
      isUnresponsive = watchedReply === reply;
    });
    const onSettled = () => {
      clearTimeout(timer);
      watchedReply = undefined;
      isUnresponsive = false;
    };
    reply.then(onSettled, onSettled);
  }

  return { redis, take };

  async function take(policy: Policy, subject: string | CountedRequest): Promise<Decision> {
    if (isUnresponsive) throw new Error("redis is unresponsive");
    const request = toCountedRequest(subject);
    const { buckets, id = randomUUID() } = request;
    const keys = redisKeys(policy, request);
    const limits = buckets.flatMap(({ factor, windowMs = policy.windowMs }) => [policy.limit * factor, windowMs]);
    const reply = redis.slidingWindow(keys.length, ...keys, id, ...limits);
    const [refusing, remaining, resetMs] = await withTimeout(reply, REPLY_TIMEOUT_MS, () => watchLateReply(reply));
    return { refusedBucket: buckets[refusing - 1]?.bucket, remaining, resetMs };
  }
}

/** In a Redis Cluster, the keys of one script must be on one server, which the text in braces selects. So it is the same for all of them. */
function redisKeys({ name }: Policy, { scope, buckets }: CountedRequest): string[] {
  const prefix = scope === undefined ? `parley:rate:${name}` : `parley:rate:${name}:{${scope}}`;
  return buckets.map(({ bucket }) => `${prefix}:${bucket}`);
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
 * Like setTimeout, but lets pending I/O run first. ioredis' own commandTimeout does not: after a busy period of this process, for example a
 * burst of 600 requests, it rejects commands whose replies have already arrived.
 */
function setTimeoutAfterIo(timeoutMs: number, work: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(work), timeoutMs);
}

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Counter, createLogger, createRegistry, Gauge } from "@parley/service-kit";
import { describeWith, startRedis, type TestRedis } from "@parley/test-support";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HttpError } from "../http/index.ts";
import { createClientHash } from "./client-hash.ts";
import { createFallbackLimiter } from "./fallback-limiter.ts";
import { createLocalLimiter } from "./local-limiter.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { createRedisLimiter, type RedisLimiter } from "./redis-limiter.client.ts";
import { countVisitorMessage, type VisitorMessage, visitorPolicy } from "./visitor-messages.ts";

const LIMIT = 20;

describeWith("redis-server", "the limit of a visitor's messages on Redis", () => {
  let server: TestRedis;
  let replicas: RedisLimiter[];
  beforeAll(async () => {
    server = await startRedis();
    replicas = [1, 2].map(() =>
      createRedisLimiter({ mode: "standalone", urls: [server.url] }, createLogger("test", "silent")),
    );
    // Until a replica has connected, its decisions are late.
    await settleInTime(() => replicas.map((_, at) => count(newMessage(), { at })));
  });
  afterAll(async () => {
    for (const each of replicas) each.close();
    await server.stop();
  });

  const newMessage = (fields: Partial<VisitorMessage> = {}): VisitorMessage => ({
    workspaceId: "ws",
    botId: "bot",
    sessionId: randomUUID(),
    visitorId: randomUUID(),
    visitorVerified: true,
    clientBucket: randomUUID(),
    messageId: randomUUID(),
    ...fields,
  });
  const hashClient = createClientHash(() => "secret");
  const count = (message: VisitorMessage, { at = 0, limit = LIMIT } = {}) =>
    countVisitorMessage({ limiter: replicas[at] as RedisLimiter, hashClient }, message, visitorPolicy(limit));

  /** Returns the result of each call: `allowed`, the reason of a refusal, or `late` if Redis did not decide in time. */
  const settle = (calls: readonly Promise<void>[]) =>
    Promise.all(
      calls.map((call) =>
        call.then(
          () => "allowed",
          (error: unknown) => (error instanceof HttpError ? error.reason : "late"),
        ),
      ),
    );
  /** Counts with new messages until Redis decides all of them in time, which it may not do on an overloaded machine. */
  async function settleInTime(calls: () => readonly Promise<void>[]): Promise<string[]> {
    for (let attempt = 0; attempt < 20; attempt++) {
      const results = await settle(calls());
      if (!results.includes("late")) return results;
      await sleep(200);
    }
    throw new Error("redis is too slow");
  }
  const numberOf = (results: string[], result: string) => results.filter((each) => each === result).length;

  test.each([
    ["a verified visitor in 200 sessions", "visitor", () => ({ visitorId: randomUUID(), visitorVerified: true })],
    ["a session from 200 addresses", "session", () => ({ sessionId: randomUUID(), visitorVerified: false })],
    ["an address in 200 sessions", "address", () => ({ clientBucket: randomUUID(), visitorVerified: false })],
  ])("of 200 first messages at once, two replicas allow %s exactly 20", async (_, reason, newSender) => {
    const results = await settleInTime(() => {
      const sender = newSender();
      return Array.from({ length: 200 }, (_each, i) => count(newMessage(sender), { at: i % 2 }));
    });
    expect([numberOf(results, "allowed"), numberOf(results, reason)]).toEqual([LIMIT, 200 - LIMIT]);
  });

  test("200 attempts to send one message count once, also at the limit", async () => {
    const results = await settleInTime(() => {
      const sender = { visitorId: randomUUID() };
      const message = newMessage(sender);
      const attempts = Array.from({ length: 200 }, (_, i) => count(message, { at: i % 2, limit: 2 }));
      return [...attempts, count(newMessage(sender), { limit: 2 }), count(newMessage(sender), { limit: 2 })];
    });
    expect(results.slice(-2)).toEqual(["allowed", "visitor"]);
    expect(numberOf(results, "allowed")).toBe(201);
  });

  test("after the limit was lowered, Retry-After is the time until few enough messages are left", async () => {
    const sender = { visitorId: randomUUID() };
    /** Repeats late decisions. Each repetition has the same id, so the message counts once. */
    const secondsUntilAllowed = async (limit: number, message = newMessage(sender)): Promise<number> => {
      const error = await count(message, { limit }).catch((thrown: unknown) => thrown);
      if (error === undefined) return 0;
      return error instanceof HttpError ? Number(error.headers["retry-after"]) : secondsUntilAllowed(limit, message);
    };
    expect(await secondsUntilAllowed(2)).toBe(0);
    await sleep(2_100);
    expect(await secondsUntilAllowed(2)).toBe(0);
    const [ofOldest, ofNewest] = [await secondsUntilAllowed(2), await secondsUntilAllowed(1)];
    expect(ofNewest - ofOldest).toBeGreaterThanOrEqual(2);
    expect(ofNewest).toBeLessThanOrEqual(86_400);
  });

  test("the keys have no address and no id of a visitor or session, and expire after a day", async () => {
    const redis = new Redis(server.url);
    const message = newMessage({ botId: randomUUID(), clientBucket: "2001:db8:1:2::/64", visitorVerified: false });
    await settleInTime(() => [count(message)]);
    const keys = await redis.keys(`*${message.botId}*`);
    expect(keys).toHaveLength(4);
    for (const key of keys) {
      expect(key).toMatch(/^parley:rate:visitor:\{[0-9a-f-]{36}\}:[\w-]{22}$/);
      expect(await redis.ttl(key)).toBeGreaterThan(86_000);
    }
    redis.disconnect();
  });

  test("while Redis is away, each replica allows 20", async () => {
    const registers = [createRegistry("test")];
    const limiters = replicas.map((replica, at) =>
      createFallbackLimiter(
        replica,
        createLocalLimiter(() => performance.now()),
        {
          isOnFallback: new Gauge({ name: `test_fallback_${at}`, help: "test", registers }),
          localDecisions: new Counter({ name: `test_local_${at}_total`, help: "test", registers }),
        },
      ),
    );
    await server.kill();
    const sender = { visitorId: randomUUID() };
    const calls = Array.from({ length: 200 }, (_, i) =>
      countVisitorMessage(
        { limiter: limiters[i % 2] as RateLimiter, hashClient },
        newMessage(sender),
        visitorPolicy(LIMIT),
      ),
    );
    const results = await settle(calls);
    expect([numberOf(results, "allowed"), numberOf(results, "visitor")]).toEqual([2 * LIMIT, 200 - 2 * LIMIT]);
  });
});

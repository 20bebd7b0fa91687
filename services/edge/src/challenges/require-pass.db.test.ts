import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Counter, createLogger, createRegistry, Gauge } from "@parley/service-kit";
import { describeWith, startRedis, type TestRedis } from "@parley/test-support";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HttpError } from "../http/index.ts";
import { createClientHash } from "../rate-limits/client-hash.ts";
import { createFallbackLimiter } from "../rate-limits/fallback-limiter.ts";
import { createLocalLimiter } from "../rate-limits/local-limiter.ts";
import type { RateLimiter } from "../rate-limits/rate-limiter.ts";
import { createRedisLimiter, type RedisLimiter } from "../rate-limits/redis-limiter.client.ts";
import { solveToText } from "../testing/solve-challenge.ts";
import { createChallengeMetrics } from "./challenge.metrics.ts";
import { type Challenged, createChallenges } from "./challenges.ts";
import { type ChallengeDeps, type ChallengedMessage, redeemSolution, requirePass } from "./require-pass.ts";

const CALLS = 100;

describeWith("redis-server", "challenges on Redis", () => {
  let server: TestRedis;
  let limiters: RedisLimiter[];
  let replicas: ChallengeDeps[];
  const createReplica = (limiter: RateLimiter): ChallengeDeps => ({
    limiter,
    hashClient: createClientHash(() => "secret"),
    challenges: createChallenges(() => "secret"),
    readMonthlyCap: async () => 0,
    challengeMetrics: createChallengeMetrics(createRegistry("test")),
  });
  beforeAll(async () => {
    server = await startRedis();
    limiters = [1, 2].map(() =>
      createRedisLimiter({ mode: "standalone", urls: [server.url] }, createLogger("test", "silent")),
    );
    replicas = limiters.map(createReplica);
    // Until a replica has connected, its decisions are late.
    await settleInTime(async () => replicas.map((_, at) => send(newMessage({ setting: "suspicious" }), at)));
  });
  afterAll(async () => {
    for (const each of limiters) each.close();
    await server.stop();
  });

  const newChallenged = (): Challenged => ({
    publicKey: "svc_pk_1",
    sessionId: randomUUID(),
    clientBucket: randomUUID(),
  });
  const newMessage = (fields: Partial<ChallengedMessage> = {}): ChallengedMessage => ({
    setting: "always",
    challenged: newChallenged(),
    pass: undefined,
    workspaceId: randomUUID(),
    messageId: randomUUID(),
    ...fields,
  });
  const send = (message: ChallengedMessage, at: number) => requirePass(replicas[at % 2] as ChallengeDeps, message);
  const issuePass = (challenged: Challenged) => (replicas[0] as ChallengeDeps).challenges.issuePass(challenged).pass;
  const redeem = (challenged: Challenged, solution: string, at: number) =>
    redeemSolution(replicas[at % 2] as ChallengeDeps, challenged, solution);
  const solve = async (challenged: Challenged) =>
    solveToText(await (replicas[0] as ChallengeDeps).challenges.create(challenged));

  /** Returns the result of each call: `accepted`, the reason of a refusal, or `late` if Redis did not decide in time. */
  const settle = (calls: readonly Promise<unknown>[]) =>
    Promise.all(
      calls.map((call) =>
        call.then(
          () => "accepted",
          (error: unknown) => (error instanceof HttpError ? error.reason : "late"),
        ),
      ),
    );
  /** Repeats new calls until Redis decides all of them in time, which it may not do on an overloaded machine. */
  async function settleInTime(calls: () => Promise<readonly Promise<unknown>[]>): Promise<string[]> {
    for (let attempt = 0; attempt < 20; attempt++) {
      const results = await settle(await calls());
      if (!results.includes("late")) return results;
      await sleep(200);
    }
    throw new Error("redis is too slow");
  }
  const numberOf = (results: string[], result: string) => results.filter((each) => each === result).length;
  const repeat = <T>(work: (index: number) => T) => Array.from({ length: CALLS }, (_, i) => work(i));

  test("of one solution sent to two replicas at once, exactly one is accepted", async () => {
    const results = await settleInTime(async () => {
      const challenged = newChallenged();
      const solution = await solve(challenged);
      return [0, 1, 0, 1].map((at) => redeem(challenged, solution, at));
    });
    expect([numberOf(results, "accepted"), numberOf(results, "used")]).toEqual([1, 3]);
  });

  test("of 100 messages at once, two replicas accept exactly 20 with one pass", async () => {
    const results = await settleInTime(async () => {
      const challenged = newChallenged();
      const pass = issuePass(challenged);
      return repeat((i) => send(newMessage({ challenged, pass }), i));
    });
    expect([numberOf(results, "accepted"), numberOf(results, "used-up")]).toEqual([20, CALLS - 20]);
  });

  test("100 attempts to send one message use a pass once", async () => {
    const results = await settleInTime(async () => {
      const challenged = newChallenged();
      const pass = issuePass(challenged);
      const message = newMessage({ challenged, pass });
      const attempts = repeat((i) => send(message, i));
      const others = Array.from({ length: 20 }, (_, i) => send(newMessage({ ...message, messageId: randomUUID() }), i));
      return [...attempts, ...others];
    });
    expect(numberOf(results.slice(0, CALLS), "accepted")).toBe(CALLS);
    expect(numberOf(results.slice(CALLS), "accepted")).toBe(19);
  });

  test.each([
    ["address", () => ({ challenged: newChallenged() })],
    ["workspace", () => ({ workspaceId: randomUUID() })],
  ])(
    "with `suspicious`, two replicas ask for passes from exactly the 21st message of one %s on",
    async (_, newSender) => {
      const results = await settleInTime(async () => {
        const sender = newSender();
        const workspaceId = randomUUID();
        return repeat((i) => send(newMessage({ setting: "suspicious", workspaceId, ...sender }), i));
      });
      expect([numberOf(results, "accepted"), numberOf(results, "missing")]).toEqual([20, CALLS - 20]);
    },
  );

  test("the keys have no address, session or public key, and expire", async () => {
    const redis = new Redis(server.url);
    const message = newMessage({ setting: "suspicious" });
    const { challenged, workspaceId } = message;
    await settleInTime(async () => [send(message, 0), redeem(challenged, await solve(challenged), 0)]);
    const keys = await redis.keys("parley:rate:challenge-*");
    expect(keys.filter((key) => key.includes(workspaceId))).toHaveLength(2);
    for (const key of keys) {
      for (const value of Object.values(challenged)) expect(key).not.toContain(value);
      expect(await redis.pttl(key)).toBeGreaterThan(0);
    }
    redis.disconnect();
  });

  test("while Redis is away, each replica counts alone", async () => {
    const registers = [createRegistry("test")];
    const locals = limiters.map((limiter, at) =>
      createReplica(
        createFallbackLimiter(
          limiter,
          createLocalLimiter(() => performance.now()),
          {
            isOnFallback: new Gauge({ name: `test_fallback_${at}`, help: "test", registers }),
            localDecisions: new Counter({ name: `test_local_${at}_total`, help: "test", registers }),
          },
        ),
      ),
    );
    await server.kill();
    const challenged = newChallenged();
    const solution = await solve(challenged);
    const at = (index: number) => locals[index % 2] as ChallengeDeps;
    const redeemed = await settle([0, 1, 0, 1].map((index) => redeemSolution(at(index), challenged, solution)));
    expect([numberOf(redeemed, "accepted"), numberOf(redeemed, "used")]).toEqual([2, 2]);
    const pass = issuePass(challenged);
    const sent = await settle(repeat((i) => requirePass(at(i), newMessage({ challenged, pass }))));
    expect([numberOf(sent, "accepted"), numberOf(sent, "used-up")]).toEqual([40, CALLS - 40]);
  });
});

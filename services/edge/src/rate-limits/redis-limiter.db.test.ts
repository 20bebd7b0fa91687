import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setImmediate as nextIteration, setTimeout as sleep } from "node:timers/promises";
import { Counter, createLogger, createRegistry, Gauge } from "@parley/service-kit";
import { describeWith, startRedis, type TestRedis } from "@parley/test-support";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createFallbackLimiter } from "./fallback-limiter.ts";
import { createLocalLimiter } from "./local-limiter.ts";
import { createRedisLimiter, type RedisLimiter } from "./redis-limiter.client.ts";

const policy = { name: "chat", limit: 60, windowMs: 60_000 };
const log = createLogger("test", "silent");

describeWith("redis", "the limiter on Redis", () => {
  let server: TestRedis;
  let replicas: RedisLimiter[];
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    replicas = [1, 2, 3].map(() => createRedisLimiter({ mode: "standalone", urls: [server.url] }, log));
    await expect
      .poll(() =>
        Promise.all(replicas.map((each) => each.take(policy, "warm up"))).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    return () => {
      for (const each of replicas) each.close();
    };
  });

  test("three replicas allow exactly 60 of 600 simultaneous requests", async () => {
    // On an overloaded machine Redis may need more than 50 ms, and some requests get no decision. The test then sends all 600 again.
    const countAllowed = async (attempt: number) => {
      const requests = Array.from({ length: 600 }, (_, i) => replicas[i % 3]?.take(policy, `198.51.100.${attempt}`));
      const decisions = await Promise.allSettled(requests);
      if (decisions.some(({ status }) => status === "rejected")) return undefined;
      return decisions.filter(
        (decision) => decision.status === "fulfilled" && decision.value?.refusedBucket === undefined,
      ).length;
    };
    let allowed: number | undefined;
    for (let attempt = 0; attempt < 20 && allowed === undefined; attempt++) {
      allowed = await countAllowed(attempt);
      // Lets the late replies arrive. Until then, `take` rejects immediately.
      if (allowed === undefined) await sleep(200);
    }
    expect(allowed).toBe(60);
  });

  test.each([
    ["/56", 4, (index: number) => `2001:db8:1:${(0xab00 + (index % 200)).toString(16)}::/64`],
    ["/48", 16, (index: number) => `2001:db8:2:${(256 * (index % 200)).toString(16)}::/64`],
  ])("three replicas allow the clients of a %s together exactly %i times the limit", async (_, factor, subject) => {
    // Each attempt uses a policy of its own, so it starts without counted requests.
    const countAllowed = async (attempt: number) => {
      const small = { name: `small${attempt}`, limit: 10, windowMs: 60_000 };
      const requests = Array.from({ length: 600 }, (_, i) => replicas[i % 3]?.take(small, subject(i)));
      const decisions = await Promise.allSettled(requests);
      if (decisions.some(({ status }) => status === "rejected")) return undefined;
      return decisions.filter((each) => each.status === "fulfilled" && each.value?.refusedBucket === undefined).length;
    };
    let allowed: number | undefined;
    for (let attempt = 0; attempt < 20 && allowed === undefined; attempt++) {
      allowed = await countAllowed(attempt);
      if (allowed === undefined) await sleep(200);
    }
    expect(allowed).toBe(10 * factor);
  });

  test("a request of an IPv6 client is one command to Redis, with keys of one slot", async () => {
    const redis = new Redis(server.url);
    const commands: string[][] = [];
    const monitor = await redis.monitor();
    monitor.on("monitor", (_time, args: string[]) => commands.push(args));
    await replicas[0]?.take(policy, "2001:db8:9:abcd::/64");
    const ofTake = () => commands.filter(([name]) => /^evalsha$/i.test(name ?? ""));
    await expect.poll(() => ofTake().length).toBe(1);
    expect(ofTake()[0]?.slice(2, 6)).toEqual([
      "3",
      "parley:rate:chat:{2001:db8:9::/48}:2001:db8:9:abcd::/64",
      "parley:rate:chat:{2001:db8:9::/48}:2001:db8:9:ab00::/56",
      "parley:rate:chat:{2001:db8:9::/48}:2001:db8:9::/48",
    ]);
    monitor.disconnect();
    redis.disconnect();
  });

  test("allows at most the limit in any window, also across window boundaries", async () => {
    const quick = { name: "quick", limit: 5, windowMs: 200 };
    /** For each allowed request, the times before it was sent and after its reply. Redis decided between them. */
    const passed: { before: number; after: number }[] = [];
    const startedAt = performance.now();
    const elapsedMs = () => performance.now() - startedAt;
    // On a stalled machine, fewer than 15 requests may pass in 900 ms. The loop then continues until 15 have passed, at most 20 s.
    while (elapsedMs() < 900 || (passed.length < 15 && elapsedMs() < 20_000)) {
      const before = performance.now();
      // A late reply does not count as allowed.
      const decision = await replicas[0]?.take(quick, "a").catch(async (error: Error) => {
        expect(error.message).toMatch(/^redis (did not reply in time|is unresponsive)$/);
        // Lets the late reply arrive: `take` may reject without I/O, and the loop would then block the event loop.
        await nextIteration();
      });
      if (decision !== undefined && decision.refusedBucket === undefined)
        passed.push({ before, after: performance.now() });
    }
    expect(passed.length).toBeGreaterThanOrEqual(15);
    for (const [i, { before }] of passed.entries()) {
      const sixth = passed[i + 5];
      // Allows two milliseconds for the difference between Redis's clock and this process's clock.
      if (sixth !== undefined) expect(sixth.after - before).toBeGreaterThan(quick.windowMs - 2);
    }
  });

  test("the key that `take` writes to Redis expires after the window", async () => {
    await replicas[0]?.take({ name: "short", limit: 5, windowMs: 1_000 }, "b");
    const redis = new Redis(server.url);
    expect(await redis.exists("parley:rate:short:b")).toBe(1);
    await expect.poll(() => redis.exists("parley:rate:short:b")).toBe(0);
    redis.disconnect();
  });

  test("a request counts in none of its buckets if one refuses it, and each bucket has its own window", async () => {
    const long = { bucket: "long", factor: 2 };
    const short = { bucket: "short", factor: 1, windowMs: 300 };
    const take = () =>
      replicas[0]?.take({ name: "windows", limit: 1, windowMs: 60_000 }, { scope: "s", buckets: [long, short] });
    expect(await take()).toEqual({ refusedBucket: undefined, remaining: 0, resetMs: 60_000 });
    expect(await take()).toMatchObject({ refusedBucket: "short" });
    await sleep(310);
    expect(await take()).toMatchObject({ refusedBucket: undefined });
    await sleep(310);
    expect(await take()).toMatchObject({ refusedBucket: "long" });
  });

  test("when Redis does not reply, a replica limits locally and decides within 100 ms at p99", async () => {
    const registers = [createRegistry("test")];
    const isOnFallback = new Gauge({ name: "test_fallback", help: "test", registers });
    const localDecisions = new Counter({ name: "test_local_total", help: "test", registers });
    const [replica] = replicas;
    if (replica === undefined) throw new Error("no replica");
    const limiter = createFallbackLimiter(
      replica,
      createLocalLimiter(() => performance.now()),
      { isOnFallback, localDecisions },
    );
    await server.pause();
    try {
      let passed = 0;
      const delaysMs: number[] = [];
      for (let i = 0; i < 100; i++) {
        const started = performance.now();
        if ((await limiter.take(policy, "203.0.113.9")).refusedBucket === undefined) passed++;
        delaysMs.push(performance.now() - started);
      }
      // p99: one of 100.
      expect(delaysMs.filter((delay) => delay > 100).length).toBeLessThanOrEqual(1);
      // Once Redis is known to be unresponsive, requests no longer wait for it.
      expect(delaysMs.filter((delay) => delay > 40).length).toBeLessThanOrEqual(10);
      expect(passed).toBe(60);
      expect((await isOnFallback.get()).values[0]?.value).toBe(1);
      expect((await localDecisions.get()).values[0]?.value).toBe(100);
    } finally {
      await server.resume();
    }
    const readFallbackAfterTake = async () => {
      await limiter.take(policy, "203.0.113.10");
      return (await isOnFallback.get()).values[0]?.value;
    };
    await expect.poll(readFallbackAfterTake).toBe(0);
  });

  test("replaces a connection that drops all data", async () => {
    const { port } = new URL(server.url);
    let connections = 0;
    const proxy = createServer((client) => {
      const target = connect(Number(port), "127.0.0.1");
      client.once("close", () => target.destroy()).on("error", () => undefined);
      target.pipe(client);
      const isFirst = connections++ === 0;
      client.on("data", (bytes) => (isFirst && isDropping) || target.write(bytes));
    });
    let isDropping = false;
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    const { port: proxyPort } = proxy.address() as AddressInfo;
    const limiter = createRedisLimiter({ mode: "standalone", urls: [`redis://127.0.0.1:${proxyPort}`] }, log);
    try {
      const takeSucceeds = () =>
        limiter.take(policy, "203.0.113.11").then(
          () => true,
          () => false,
        );
      await expect.poll(takeSucceeds).toBe(true);
      isDropping = true;
      expect(await takeSucceeds()).toBe(false);
      await expect.poll(takeSucceeds, { timeout: 10_000 }).toBe(true);
      expect(connections).toBe(2);
    } finally {
      limiter.close();
      proxy.close();
    }
  });
});

describeWith("redis-server", "the limiter on Redis when the password changes", () => {
  let server: TestRedis;
  beforeAll(async () => {
    server = await startRedis({ args: ["--requirepass", "old"] });
  });
  afterAll(() => server.stop());

  const settings = (password: string) => {
    const url = new URL(server.url);
    url.password = password;
    return { mode: "standalone", urls: [url.href] } as const;
  };

  test("switches to the new password without failing a request, and keeps its connection if Redis refuses a password", async () => {
    const lines: string[] = [];
    const recorder = createLogger("test", "info", { write: (line) => void lines.push(line) });
    const limiter = createRedisLimiter(settings("old"), recorder);
    const admin = new Redis(settings("old").urls[0]);
    /** Returns the ids of the limiter's connections. */
    const listConnections = async () =>
      Array.from(String(await admin.client("LIST")).matchAll(/^id=(\d+) .*name=parley-edge/gm), ([, id]) => id);
    const failures: string[] = [];
    let taken = 0;
    const take = () =>
      limiter.take({ ...policy, limit: 1_000_000 }, "203.0.113.12").then(
        () => void taken++,
        (error: Error) => void failures.push(error.message),
      );
    const countAfterTake = async () => {
      await take();
      return taken;
    };
    await expect.poll(countAfterTake).toBeGreaterThan(0);
    failures.length = 0;
    const load = setInterval(take, 2);
    try {
      const refusals: string[] = [];
      limiter.reconnect(settings("wrong"), (error) => refusals.push(error.message));
      await expect.poll(() => refusals).toEqual([expect.stringContaining("WRONGPASS")]);
      await sleep(500);
      expect(refusals).toHaveLength(1);

      await admin.acl("SETUSER", "default", ">new");
      limiter.reconnect(settings("new"), (error) => refusals.push(error.message));
      await expect.poll(() => lines.join("")).toContain("redis connection replaced");
      // The replaced connection and the refused ones are closed.
      await expect.poll(listConnections).toHaveLength(1);
      const takenBefore = taken;
      await expect.poll(() => taken).toBeGreaterThan(takenBefore + 50);
      // On a stalled machine a reply may be late.
      expect(failures.filter((each) => !/did not reply in time|is unresponsive/.test(each))).toEqual([]);
      expect(refusals).toHaveLength(1);
      expect(lines.join("")).not.toContain("redis connection lost");

      // From here, the limiter can reconnect only with the new password.
      await admin.acl("SETUSER", "default", "<old");
      const killed = await listConnections();
      await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await expect.poll(listConnections).toEqual([expect.not.stringMatching(`^(?:${killed.join("|")})$`)]);
      const takenAtReconnect = taken;
      await expect.poll(() => taken).toBeGreaterThan(takenAtReconnect);
    } finally {
      clearInterval(load);
      limiter.close();
      admin.disconnect();
    }
  });
});

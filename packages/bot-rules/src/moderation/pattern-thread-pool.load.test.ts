import { setImmediate as nextIteration } from "node:timers/promises";
import { createLogger, createRegistry, Lifecycle } from "@parley/service-kit";
import { afterEach, describe, expect, test } from "vitest";
import { moderateMessage, prepareMessagePatterns } from "./moderate.ts";
import { PatternThreadPool, type PatternThreadPoolOptions } from "./pattern-thread-pool.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function startThreads(options: PatternThreadPoolOptions = {}) {
  const registry = createRegistry("test");
  const lifecycle = new Lifecycle(createLogger("test", "silent"));
  closers.push(() => lifecycle.close());
  const logged: unknown[][] = [];
  const record = (...line: unknown[]) => void logged.push(line);
  // On a busy machine starting a thread takes seconds.
  const poolOptions = { maxWaitMs: 20_000, ...options };
  const threads = new PatternThreadPool({ registry, log: { warn: record, error: record }, lifecycle }, poolOptions);
  const countOf = async (result: string, kind = "match") => {
    const { values } = (await registry.getSingleMetric("parley_moderation_duration_seconds")?.get()) ?? { values: [] };
    const named = values as { metricName?: string; labels: Record<string, string>; value: number }[];
    return named.find(
      ({ metricName = "", labels }) =>
        metricName.endsWith("_count") && labels.result === result && labels.kind === kind,
    )?.value;
  };
  const match = (workspaceId: string, patterns: readonly string[], text: string) =>
    threads.match(workspaceId, { patterns: JSON.stringify(patterns), text, searchFrom: 0, isTextComplete: true });
  return { threads, match, countOf, logged };
}

/** Patterns that are slow to match: each new text adds states to the DFA. */
const slowPatterns = (count: number) =>
  Array.from({ length: count }, (_, number) => `(buy|sell|send).{0,60}(bitcoin|crypto)${number}`);
/** As many slow patterns as the size limit permits. */
const SLOW = slowPatterns(13);
const slowText = (words = 600) =>
  Array.from({ length: words }, () => ["buy", "sell", "a", "go "][Math.floor(Math.random() * 4)]).join("");

const OVERLOADED = { kind: "resource_exhausted", code: "moderation_overloaded" };

describe("moderateMessage", { timeout: 30_000 }, () => {
  const pattern = (pattern: string, fallback = "") => ({ pattern, reason: `because of ${pattern}`, fallback });
  test("returns the verdict of the first pattern that matches, with its own fallback or else the bot's", async () => {
    const { threads } = startThreads();
    const verdict = (message: string, ...list: ReturnType<typeof pattern>[]) =>
      moderateMessage(threads, "ws_a", message, prepareMessagePatterns(list), "Bot's.");
    expect(await verdict("how rude", pattern("rude"), pattern("ru", "Own."))).toEqual({
      reason: "because of rude",
      fallback: "Bot's.",
    });
    expect(await verdict("how rude", pattern("ru", "Own."), pattern("rude"))).toMatchObject({ fallback: "Own." });
    expect(await verdict("how ＲＵde", pattern("none"), pattern("rude"))).toMatchObject({ reason: "because of rude" });
    expect(await verdict("kind", pattern("rude"))).toBeUndefined();
    expect(await verdict("anything")).toBeUndefined();
  });
});

describe("a slow match", { timeout: 120_000 }, () => {
  test("keeps the event loop free and does not delay other workspaces", async () => {
    const { match } = startThreads({ share: 1, maxWaitMs: 60_000, maxJobMs: 60_000 });
    // Slow matches of two workspaces at the same time make both threads of the pool start.
    const warm = (workspaceId: string) => match(workspaceId, slowPatterns(50), slowText().repeat(3));
    await Promise.all([warm("ws_c"), warm("ws_d")]);
    const ended: string[] = [];
    // The text is so long that a slow match takes much longer than the five quick matches below, even on a busy machine.
    const slow = [1, 2, 3].map((number) =>
      match("ws_a", SLOW, slowText(12_000)).then(() => ended.push(`slow ${number}`)),
    );
    for (let number = 0; number < 5; number++)
      expect(await match("ws_b", ["rude"], "how rude")).toEqual({ index: 0, maxMatchLength: 4 });
    // The quick matches did not wait for the slow ones: at most one slow match has ended.
    expect(ended.length).toBeLessThan(2);
    let iterations = 0;
    while (ended.length < 3) {
      await nextIteration();
      iterations++;
    }
    expect(iterations).toBeGreaterThan(20);
    await Promise.all(slow);
    expect(ended).toEqual(["slow 1", "slow 2", "slow 3"]);
  });

  test("is refused, counted and logged if its workspace has used its share of thread time, and other workspaces are still served", async () => {
    // With this share, a workspace that has used its burst regains almost no thread time during the test.
    const { match, countOf, logged } = startThreads({ share: 0.000_001, maxWaitMs: 2_000, maxJobMs: 60_000 });
    // Starting a thread may take longer than maxWaitMs.
    const neighbour = () => match("ws_b", ["rude"], "how rude").catch(() => undefined);
    await expect.poll(neighbour, { timeout: 20_000 }).toBeDefined();
    const before = (await countOf("wait_timeout")) ?? 0;
    // Each job takes more CPU time than the burst.
    const slow = () => match("ws_a", slowPatterns(50), slowText(6_000));
    const results = await Promise.allSettled(Array.from({ length: 40 }, slow));
    const refused = results.filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(40);
    for (const each of refused) expect(each).toMatchObject({ reason: OVERLOADED });
    await expect(match("ws_a", SLOW, "short")).rejects.toMatchObject(OVERLOADED);
    expect(await countOf("wait_timeout")).toBe(before + refused.length + 1);
    expect(logged).toContainEqual([{ workspace_id: "ws_a", result: "wait_timeout" }, "pattern job refused"]);
    expect(await neighbour()).toMatchObject({ index: 0 });
  });

  test("is refused after the time limit of a job, and a later job is served", async () => {
    const { match, countOf } = startThreads({ maxJobMs: 300 });
    await expect(match("ws_a", slowPatterns(50), slowText().repeat(40))).rejects.toMatchObject(OVERLOADED);
    expect(await countOf("match_timeout")).toBe(1);
    const next = () => match("ws_b", ["rude"], "how rude").catch(() => undefined);
    await expect.poll(next, { timeout: 10_000 }).toMatchObject({ index: 0 });
  });
});

test("a job whose result arrives after its time limit is counted once", { timeout: 30_000 }, async () => {
  const { match, countOf } = startThreads({ maxJobMs: 300 });
  const quick = (workspaceId: string) => match(workspaceId, ["rude"], "how rude").catch(() => undefined);
  await expect.poll(() => quick("ws_a"), { timeout: 20_000 }).toBeDefined();
  const okBefore = (await countOf("ok")) ?? 0;
  const timeoutsBefore = (await countOf("match_timeout")) ?? 0;
  // The thread answers while the event loop is blocked. After an immediate, Node runs expired timers before it reads messages.
  await nextIteration();
  const late = quick("ws_b");
  // Microtasks send the job to its thread. Node runs them all before the next tick.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  const blockedUntilMs = performance.now() + 1_000;
  while (performance.now() < blockedUntilMs);
  expect(await late).toBeUndefined();
  expect(await countOf("match_timeout")).toBe(timeoutsBefore + 1);
  await expect.poll(() => quick("ws_c"), { timeout: 20_000 }).toBeDefined();
  expect(await countOf("ok")).toBe(okBefore + 1);
});

describe("a job", { timeout: 30_000 }, () => {
  test("is refused if more than a million characters of its workspace are queued", async () => {
    const { match, countOf } = startThreads();
    const text = "x".repeat(100_000);
    const results = await Promise.allSettled(Array.from({ length: 14 }, () => match("ws_a", ["rude"], text)));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
    expect(await countOf("queue_full")).toBe(4);
  });

  test("is refused if its thread fails, and the next job gets another thread", async () => {
    const { threads, match, countOf, logged } = startThreads();
    const job = { patterns: "not JSON", text: "", searchFrom: 0, isTextComplete: true };
    await expect(threads.match("ws_a", job)).rejects.toMatchObject(OVERLOADED);
    expect(await countOf("failed")).toBe(1);
    expect(logged).toContainEqual([{ error: expect.any(SyntaxError) }, "pattern thread failed"]);
    expect(await match("ws_a", ["rude"], "how rude")).toMatchObject({ index: 0 });
  });
});

test("match throws for a stored pattern that cannot be compiled, and the thread keeps running", {
  timeout: 30_000,
}, async () => {
  const { match, countOf } = startThreads();
  await expect(match("ws_a", ["ok", "(?=a)"], "ok")).rejects.toThrow("the pattern is not valid");
  expect(await countOf("failed")).toBe(0);
});

test("match accepts stored patterns beyond the size limit, and logs the excess once for each thread that compiles them", {
  timeout: 30_000,
}, async () => {
  // A long time limit, because compiling the patterns in a low-priority thread may take seconds on a busy machine.
  const { match, logged } = startThreads({ share: 1, maxJobMs: 20_000 });
  const patterns = [...slowPatterns(50), "rude"];
  for (let count = 0; count < 5; count++)
    expect(await match("ws_a", patterns, "how rude")).toMatchObject({ index: 50 });
  const size = expect.any(Number);
  const entry = [{ workspace_id: "ws_a", size, limit: 2_000 }, "bot's patterns exceed the size limit"];
  expect([[entry], [entry, entry]]).toContainEqual(logged);
});

/** A character class that takes milliseconds to compile, because re2js looks up the upper and lower case of each character. */
const SLOW_CLASS = "[a-z\\x{100}-\\x{1ffff}]";

describe("a pattern to save", { timeout: 30_000 }, () => {
  const check = (pattern: string, otherPatterns: readonly string[] = [], isForReplies = false) =>
    startThreads().threads.check("ws_a", { pattern, otherPatterns, isForReplies });

  test("is accepted together with 99 phrases", async () => {
    const otherPatterns = Array.from({ length: 99 }, (_, number) => `\\bphrase ${number} word\\b`);
    expect(await check("secret", otherPatterns, true)).toBeUndefined();
  });

  test.each([
    ["is not valid", "(?=a)", [], "invalid_argument", "the pattern is not valid"],
    ["is too large", ".{0,1000}", [], "pattern_too_large", /its size is 20\d\d, the limit is 300/],
    [
      "is too large together with the bot's other patterns",
      "x{200}",
      Array.from({ length: 10 }, (_, number) => `x{200}${number}`),
      "patterns_too_large",
      /of size 202 their total size is 22\d\d, the limit is 2000/,
    ],
    [
      "takes too long to compile together with the bot's other patterns",
      "rude",
      Array.from({ length: 40 }, (_, number) => `${SLOW_CLASS.repeat(20)}${number}`),
      "patterns_too_large",
      "take too long to compile",
    ],
  ])("is refused when it %s", async (_, pattern, otherPatterns, code, message) => {
    await expect(check(pattern, otherPatterns)).rejects.toMatchObject({
      code,
      message: message instanceof RegExp ? expect.stringMatching(message) : expect.stringContaining(message),
    });
  });

  test("is refused when the check exceeds the time limit of a job", async () => {
    const { threads, countOf } = startThreads({ maxJobMs: 300 });
    const otherPatterns = Array.from({ length: 40 }, (_, number) => `${SLOW_CLASS.repeat(20)}${number}`);
    await expect(threads.check("ws_a", { pattern: "rude", isForReplies: false, otherPatterns })).rejects.toMatchObject({
      code: "patterns_too_large",
    });
    expect(await countOf("match_timeout", "check")).toBe(1);
    expect(await countOf("match_timeout")).toBe(0);
  });
});

test("matchAll returns the index of every pattern that matches, and obeys the time limit of a job", {
  timeout: 30_000,
}, async () => {
  const { threads } = startThreads({ share: 1, maxJobMs: 20_000 });
  const patterns = JSON.stringify([...SLOW, "rude", "kind", "ru"]);
  expect(await threads.matchAll("ws_a", { patterns, text: "how rude to buy a bitcoin3" })).toEqual([3, 13, 15]);
  expect(await threads.matchAll("ws_a", { patterns, text: "hello" })).toEqual([]);
  const { threads: withShortLimit, countOf } = startThreads({ maxJobMs: 1 });
  await expect(withShortLimit.matchAll("ws_a", { patterns, text: slowText() })).rejects.toMatchObject(OVERLOADED);
  expect([await countOf("match_timeout", "check"), await countOf("match_timeout")]).toEqual([1, 0]);
});

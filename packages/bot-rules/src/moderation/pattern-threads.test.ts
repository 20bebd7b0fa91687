import { setImmediate as nextTurn } from "node:timers/promises";
import { createLogger, createRegistry, Lifecycle } from "@parley/service-kit";
import { afterEach, describe, expect, test } from "vitest";
import { messagePatterns, moderate } from "./moderate.ts";
import { PatternThreads, type PatternThreadsOptions } from "./pattern-threads.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function startThreads(options: PatternThreadsOptions = {}) {
  const registry = createRegistry("test");
  const lifecycle = new Lifecycle(createLogger("test", "silent"));
  closers.push(() => lifecycle.close());
  const logged: unknown[][] = [];
  const note = (...line: unknown[]) => void logged.push(line);
  const threads = new PatternThreads({ registry, log: { warn: note, error: note }, lifecycle }, options);
  const count = async (result: string) => {
    const { values } = (await registry.getSingleMetric("parley_moderation_duration_seconds")?.get()) ?? { values: [] };
    const named = values as { metricName?: string; labels: { result?: string }; value: number }[];
    return named.find(({ metricName = "", labels }) => metricName.endsWith("_count") && labels.result === result)
      ?.value;
  };
  const match = (workspaceId: string, patterns: readonly string[], text: string) =>
    threads.match(workspaceId, { patterns: JSON.stringify(patterns), text, from: 0, isWhole: true });
  return { threads, match, count, logged };
}

/** Patterns whose automata have new states for each new text. */
const attack = (count: number) =>
  Array.from({ length: count }, (_, number) => `(buy|sell|send).{0,60}(bitcoin|crypto)${number}`);
/** As many as a bot may have; a match takes tens of milliseconds. */
const SLOW = attack(13);
const slowText = () =>
  Array.from({ length: 600 }, () => ["buy", "sell", "a", "go "][Math.floor(Math.random() * 4)]).join("");

const OVERLOADED = { kind: "resource_exhausted", code: "moderation_overloaded" };

describe("a message", { timeout: 30_000 }, () => {
  const pattern = (pattern: string, fallback = "") => ({ pattern, reason: `because of ${pattern}`, fallback });
  test("gets the verdict of the first pattern that matches, with its own fallback or else the bot's", async () => {
    const { threads } = startThreads();
    const verdict = (message: string, ...list: ReturnType<typeof pattern>[]) =>
      moderate(threads, "ws_a", message, messagePatterns(list), "Bot's.");
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

describe("a slow match", { timeout: 30_000 }, () => {
  test("leaves the event loop free, and delays no other workspace", async () => {
    const { match } = startThreads({ share: 1, waitMs: 20_000, jobMs: 20_000 });
    // Both threads are there once two workspaces have had something slow at a time.
    const warm = (workspaceId: string) => match(workspaceId, attack(50), slowText().repeat(3));
    await Promise.all([warm("ws_c"), warm("ws_d")]);
    const ended: string[] = [];
    const slow = [1, 2, 3].map((number) => match("ws_a", SLOW, slowText()).then(() => ended.push(`slow ${number}`)));
    for (let number = 0; number < 5; number++)
      expect(await match("ws_b", ["rude"], "how rude")).toEqual({ hit: 0, longest: 4 });
    // One of them may have ended; the others wait for it, not for the second thread.
    expect(ended.length).toBeLessThan(2);
    let turns = 0;
    while (ended.length < 3) {
      await nextTurn();
      turns++;
    }
    expect(turns).toBeGreaterThan(20);
    await Promise.all(slow);
    expect(ended).toEqual(["slow 1", "slow 2", "slow 3"]);
  });

  test("of a workspace that has used its share is refused after its wait, is counted, and is nothing to another", async () => {
    const { match, count, logged } = startThreads({ share: 0.001, waitMs: 2_000 });
    // A busy machine takes longer than the wait to start a thread.
    const neighbour = () => match("ws_b", ["rude"], "how rude").catch(() => undefined);
    await expect.poll(neighbour, { timeout: 20_000 }).toBeDefined();
    const before = (await count("wait_timeout")) ?? 0;
    const results = await Promise.allSettled(Array.from({ length: 40 }, () => match("ws_a", SLOW, slowText())));
    const refused = results.filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(40);
    for (const each of refused) expect(each).toMatchObject({ reason: OVERLOADED });
    await expect(match("ws_a", SLOW, "short")).rejects.toMatchObject(OVERLOADED);
    expect(await count("wait_timeout")).toBe(before + refused.length + 1);
    expect(logged).toContainEqual([{ workspace_id: "ws_a", result: "wait_timeout" }, "moderation refused"]);
    expect(await neighbour()).toMatchObject({ hit: 0 });
  });

  test("lets a million characters of its workspace wait, and no more", async () => {
    const { match, count } = startThreads();
    const text = "x".repeat(100_000);
    const results = await Promise.allSettled(Array.from({ length: 14 }, () => match("ws_a", ["rude"], text)));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
    expect(await count("queue_full")).toBe(4);
  });

  test("that exceeds its time is refused with its thread, and the next job gets another", async () => {
    const { match, count } = startThreads({ jobMs: 300 });
    await expect(match("ws_a", attack(50), slowText().repeat(40))).rejects.toMatchObject(OVERLOADED);
    expect(await count("match_timeout")).toBe(1);
    const next = () => match("ws_b", ["rude"], "how rude").catch(() => undefined);
    await expect.poll(next, { timeout: 10_000 }).toMatchObject({ hit: 0 });
  });
});

test("a thread that fails refuses its job, and the next one gets another", { timeout: 30_000 }, async () => {
  const { threads, match, count, logged } = startThreads();
  const job = { patterns: "not JSON", text: "", from: 0, isWhole: true };
  await expect(threads.match("ws_a", job)).rejects.toMatchObject(OVERLOADED);
  expect(await count("failed")).toBe(1);
  expect(logged).toContainEqual([{ error: expect.any(SyntaxError) }, "pattern thread failed"]);
  expect(await match("ws_a", ["rude"], "how rude")).toMatchObject({ hit: 0 });
});

test("a stored pattern that cannot be compiled is no verdict, and costs no thread", { timeout: 30_000 }, async () => {
  const { match, count } = startThreads();
  await expect(match("ws_a", ["ok", "(?=a)"], "ok")).rejects.toThrow("not valid RE2");
  expect(await count("failed")).toBe(0);
});

test("patterns beyond the limit for new ones are matched, and logged once for each thread that compiles them", {
  timeout: 30_000,
}, async () => {
  const { match, logged } = startThreads();
  const patterns = [...attack(50), "rude"];
  for (let count = 0; count < 5; count++) expect(await match("ws_a", patterns, "how rude")).toMatchObject({ hit: 50 });
  const size = expect.any(Number);
  const line = [{ workspace_id: "ws_a", size, limit: 2_000 }, "bot's patterns exceed the size limit"];
  expect([[line], [line, line]]).toContainEqual(logged);
});

/** A class that takes milliseconds to compile, because each of its characters is looked up in the other case. */
const SLOW_CLASS = "[a-z\\x{100}-\\x{1ffff}]";

describe("a pattern that is to be saved", { timeout: 30_000 }, () => {
  const check = (pattern: string, others: readonly string[] = [], isForReplies = false) =>
    startThreads().threads.check("ws_a", { pattern, others, isForReplies });

  test("is accepted beside 100 phrases", async () => {
    const others = Array.from({ length: 99 }, (_, number) => `\\bphrase ${number} word\\b`);
    expect(await check("secret", others, true)).toBeUndefined();
  });

  test.each([
    ["is no RE2", "(?=a)", [], "invalid_argument", "not valid RE2"],
    ["is too large by itself", ".{0,1000}", [], "pattern_too_large", /its size is 20\d\d, and 300 is the most/],
    [
      "is too large with the others",
      "x{200}",
      Array.from({ length: 10 }, (_, number) => `x{200}${number}`),
      "patterns_too_large",
      /of size 202, their size is 22\d\d, and 2000 is the most/,
    ],
    [
      "takes too long to compile with the others",
      "rude",
      Array.from({ length: 40 }, (_, number) => `${SLOW_CLASS.repeat(20)}${number}`),
      "patterns_too_large",
      "take too long to compile",
    ],
  ])("is refused when it %s", async (_, pattern, others, code, message) => {
    await expect(check(pattern, others)).rejects.toMatchObject({
      code,
      message: message instanceof RegExp ? expect.stringMatching(message) : expect.stringContaining(message),
    });
  });

  test("is refused when checking it exceeds a match's time", async () => {
    const { threads, count } = startThreads({ jobMs: 300 });
    const others = Array.from({ length: 40 }, (_, number) => `${SLOW_CLASS.repeat(20)}${number}`);
    await expect(threads.check("ws_a", { pattern: "rude", isForReplies: false, others })).rejects.toMatchObject({
      code: "patterns_too_large",
    });
    expect(await count("match_timeout")).toBe(1);
  });
});

import { expect, test } from "vitest";
import { createLocalLimiter } from "./local-limiter.ts";

const policy = { name: "chat", limit: 3, windowMs: 60_000 };

test("allows at most the limit in any window, and does not count refused requests", async () => {
  let now = 0;
  const limiter = createLocalLimiter(() => now);
  const passed: number[] = [];
  for (now = 0; now <= 300_000; now += 1_000) {
    if ((await limiter.take(policy, "a")).isAllowed) passed.push(now);
  }
  for (const start of passed) {
    expect(passed.filter((time) => time >= start && time < start + policy.windowMs).length).toBeLessThanOrEqual(3);
  }
  // Three requests at the start of each of five windows, and one request at 300 s.
  expect(passed).toHaveLength(16);
});

test("when it refuses a request, returns the exact time until the next request is allowed", async () => {
  let now = 1_000;
  const limiter = createLocalLimiter(() => now);
  for (let i = 0; i < 3; i++) await limiter.take(policy, "a");
  now = 21_000;
  expect(await limiter.take(policy, "a")).toEqual({ isAllowed: false, remaining: 0, resetMs: 40_000 });
  now = 61_000;
  expect((await limiter.take(policy, "a")).isAllowed).toBe(true);
});

test("counts each subject and each policy separately", async () => {
  const limiter = createLocalLimiter(() => 0);
  for (let i = 0; i < 3; i++) await limiter.take(policy, "a");
  expect((await limiter.take(policy, "b")).isAllowed).toBe(true);
  expect((await limiter.take({ ...policy, name: "rating" }, "a")).isAllowed).toBe(true);
});

test.each([
  ["subjects", { subjects: 2, requests: 100 }, 2],
  ["requests of all subjects", { subjects: 100, requests: 6 }, 2],
])("above its cap on %s, evicts the least recently used subject", async (_, caps, keptSubjects) => {
  const limiter = createLocalLimiter(() => 0, caps);
  const subjects = ["a", "b", "c"];
  for (const subject of subjects) for (let i = 0; i < 3; i++) await limiter.take(policy, subject);
  const isLimited = async (subject: string) => !(await limiter.take(policy, subject)).isAllowed;
  // Checks the evicted subject last, because the check adds that subject again and evicts another one.
  const limited = [await isLimited("c"), await isLimited("b"), await isLimited("a")];
  expect(limited.filter(Boolean)).toHaveLength(keptSubjects);
  expect(limited[2]).toBe(false);
});

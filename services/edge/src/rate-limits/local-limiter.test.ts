import { expect, test } from "vitest";
import { createLocalLimiter } from "./local-limiter.ts";
import type { Policy, RateLimiter } from "./rate-limiter.ts";

const policy = { name: "chat", limit: 3, windowMs: 60_000 };

const isAllowed = async (limiter: RateLimiter, subject: string, by: Policy = policy) =>
  (await limiter.take(by, subject)).refusedBucket === undefined;

test("allows at most the limit in any window, and does not count refused requests", async () => {
  let now = 0;
  const limiter = createLocalLimiter(() => now);
  const passed: number[] = [];
  for (now = 0; now <= 300_000; now += 1_000) {
    if (await isAllowed(limiter, "a")) passed.push(now);
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
  expect(await limiter.take(policy, "a")).toEqual({ refusedBucket: "a", remaining: 0, resetMs: 40_000 });
  now = 61_000;
  expect(await isAllowed(limiter, "a")).toBe(true);
});

test("when the limit was lowered, waits until few enough requests are left in the window", async () => {
  let now = 0;
  const limiter = createLocalLimiter(() => now);
  for (now = 1_000; now <= 3_000; now += 1_000) await limiter.take(policy, "a");
  expect(await limiter.take({ ...policy, limit: 1 }, "a")).toMatchObject({ refusedBucket: "a", resetMs: 59_000 });
});

test("counts each subject and each policy separately", async () => {
  const limiter = createLocalLimiter(() => 0);
  for (let i = 0; i < 3; i++) await limiter.take(policy, "a");
  expect(await isAllowed(limiter, "b")).toBe(true);
  expect(await isAllowed(limiter, "a", { ...policy, name: "rating" })).toBe(true);
});

test.each([
  ["subjects", { subjects: 2, requests: 100 }, 2],
  ["requests of all subjects", { subjects: 100, requests: 6 }, 2],
])("above its cap on %s, evicts the least recently used subject", async (_, caps, keptSubjects) => {
  const limiter = createLocalLimiter(() => 0, caps);
  const subjects = ["a", "b", "c"];
  for (const subject of subjects) for (let i = 0; i < 3; i++) await limiter.take(policy, subject);
  const isLimited = async (subject: string) => !(await isAllowed(limiter, subject));
  // Checks the evicted subject last, because the check adds that subject again and evicts another one.
  const limited = [await isLimited("c"), await isLimited("b"), await isLimited("a")];
  expect(limited.filter(Boolean)).toHaveLength(keptSubjects);
  expect(limited[2]).toBe(false);
});

test("the /64s of a /56 share 4 times the limit, and those of a /48 share 16 times the limit", async () => {
  let now = 0;
  const limiter = createLocalLimiter(() => now);
  const allowedOf = async (subjects: readonly string[]) => {
    const decisions = await Promise.all(subjects.flatMap((each) => [1, 2, 3, 4].map(() => isAllowed(limiter, each))));
    return decisions.filter(Boolean).length;
  };
  const subnets = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${prefix}${(index + 16).toString(16)}::/64`);
  expect(await allowedOf(subnets("2001:db8:1:a", 40))).toBe(12);
  expect(await limiter.take(policy, "2001:db8:1:a42::/64")).toMatchObject({ refusedBucket: "2001:db8:1:a00::/56" });
  // 16 further /56s of the same /48.
  const networks = Array.from({ length: 16 }, (_, index) =>
    subnets(`2001:db8:1:${(index + 17).toString(16)}`, 4),
  ).flat();
  expect(await allowedOf(networks)).toBe(48 - 12);
  expect(await limiter.take(policy, "2001:db8:1:ffff::/64")).toEqual({
    refusedBucket: "2001:db8:1::/48",
    remaining: 0,
    resetMs: 60_000,
  });
  expect(await isAllowed(limiter, "2001:db8:2:ffff::/64")).toBe(true);
  now = 60_001;
  expect(await limiter.take(policy, "2001:db8:1:ffff::/64")).toMatchObject({ refusedBucket: undefined, remaining: 2 });
});

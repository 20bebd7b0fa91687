import { expect, test } from "vitest";
import { WorkspaceTimeLimiter } from "./workspace-time-limiter.ts";

test("an idle workspace uses its burst without waiting, and then waits", () => {
  const limiter = new WorkspaceTimeLimiter({ share: 0.25, burstMs: 250 });
  limiter.charge("a", 250, 10_000);
  expect(limiter.waitMs("a", 10_000)).toBe(0);
  limiter.charge("a", 10, 10_000);
  // 10 ms of work at a share of 0.25 need 40 ms.
  expect(limiter.waitMs("a", 10_000)).toBe(40);
  expect(limiter.waitMs("a", 10_040)).toBe(0);
});

test("in one minute, a busy workspace gets its share of the time plus at most one burst", () => {
  const limiter = new WorkspaceTimeLimiter({ share: 0.25, burstMs: 250 });
  let now = 5_000;
  let worked = 0;
  while (now < 65_000) {
    now += limiter.waitMs("a", now);
    limiter.charge("a", 20, now);
    now += 20;
    worked += 20;
  }
  expect(worked).toBeGreaterThan(60_000 * 0.25);
  expect(worked).toBeLessThan(60_000 * 0.25 + 250 + 40);
});

test("idle time does not increase the burst", () => {
  const limiter = new WorkspaceTimeLimiter({ share: 0.25, burstMs: 250 });
  limiter.charge("a", 1, 0);
  limiter.charge("a", 260, 1_000_000);
  expect(limiter.waitMs("a", 1_000_000)).toBe(40);
});

test("work of one workspace does not delay another", () => {
  const limiter = new WorkspaceTimeLimiter({ share: 0.25, burstMs: 250 });
  limiter.charge("a", 10_000, 0);
  expect(limiter.waitMs("b", 0)).toBe(0);
});

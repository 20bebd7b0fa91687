import { expect, test } from "vitest";
import { WorkspaceShares } from "./workspace-shares.ts";

test("a workspace may work 250 ms ahead of its share", () => {
  const shares = new WorkspaceShares(0.25);
  shares.charge("a", 250, 10_000);
  expect(shares.waitMs("a", 10_000)).toBe(0);
  shares.charge("a", 10, 10_000);
  expect(shares.waitMs("a", 10_000)).toBe(40);
  expect(shares.waitMs("a", 10_040)).toBe(0);
});

test("over a minute a workspace that always has work gets its share of the time, and 250 ms more", () => {
  const shares = new WorkspaceShares(0.25);
  let now = 5_000;
  let worked = 0;
  while (now < 65_000) {
    now += shares.waitMs("a", now);
    shares.charge("a", 20, now);
    now += 20;
    worked += 20;
  }
  expect(worked).toBeGreaterThan(60_000 * 0.25);
  expect(worked).toBeLessThan(60_000 * 0.25 + 250 + 40);
});

test("idle time is not saved up", () => {
  const shares = new WorkspaceShares(0.25);
  shares.charge("a", 1, 0);
  shares.charge("a", 260, 1_000_000);
  expect(shares.waitMs("a", 1_000_000)).toBe(40);
});

test("what one workspace does costs another nothing", () => {
  const shares = new WorkspaceShares(0.25);
  shares.charge("a", 10_000, 0);
  expect(shares.waitMs("b", 0)).toBe(0);
});

import { expect, test } from "vitest";
import { WorkspaceShares } from "./workspace-shares.ts";

test("allows a burst of 250 ms", () => {
  const shares = new WorkspaceShares(0.25);
  shares.charge("a", 250, 10_000);
  expect(shares.waitMs("a", 10_000)).toBe(0);
  shares.charge("a", 10, 10_000);
  expect(shares.waitMs("a", 10_000)).toBe(40);
  expect(shares.waitMs("a", 10_040)).toBe(0);
});

test("over a minute, a busy workspace gets its share of the time and one burst", () => {
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

test("idle time does not increase the burst", () => {
  const shares = new WorkspaceShares(0.25);
  shares.charge("a", 1, 0);
  shares.charge("a", 260, 1_000_000);
  expect(shares.waitMs("a", 1_000_000)).toBe(40);
});

test("work of one workspace does not delay another", () => {
  const shares = new WorkspaceShares(0.25);
  shares.charge("a", 10_000, 0);
  expect(shares.waitMs("b", 0)).toBe(0);
});

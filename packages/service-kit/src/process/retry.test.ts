import { expect, test, vi } from "vitest";
import { backoffMs, withJitter, withRetry } from "./retry.ts";

test("runs work again while it may be tried again, and throws the error of the last attempt", async () => {
  const work = vi.fn(async () => {
    throw new Error(`attempt ${work.mock.calls.length}`);
  });
  const delayMs = vi.fn(() => 0);
  await expect(withRetry(work, { canRetry: (_, attempts) => attempts < 3, delayMs })).rejects.toThrow("attempt 3");
  expect(delayMs.mock.calls).toEqual([[1], [2]]);
});

test("returns the result of the first attempt that succeeds", async () => {
  let attempts = 0;
  const work = async () => {
    if (++attempts < 2) throw new Error("failed");
    return attempts;
  };
  expect(await withRetry(work, { canRetry: () => true })).toBe(2);
});

test("a backoff doubles up to its limit, and jitter changes it by at most a quarter", () => {
  expect([1, 2, 3, 4, 2_000].map((failures) => backoffMs(failures, 50, 300))).toEqual([50, 100, 200, 300, 300]);
  for (let count = 0; count < 100; count++) expect(Math.abs(withJitter(100) - 100)).toBeLessThanOrEqual(25);
});

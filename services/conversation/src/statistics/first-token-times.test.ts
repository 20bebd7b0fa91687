import { expect, test } from "vitest";
import { FIRST_TOKEN_BOUNDS_MS, quantileMs } from "./first-token-times.ts";

const toCounts = (buckets: Record<number, number>) =>
  Array.from({ length: FIRST_TOKEN_BOUNDS_MS.length + 1 }, (_, index) => buckets[index] ?? 0);

test.each([
  [{ 0: 10 }, 0.5, 63],
  [{ 2: 4 }, 0.5, 375],
  [{ 1: 5, 3: 5 }, 0.5, 250],
  [{ 1: 5, 3: 5 }, 0.95, 950],
  [{ 1: 9, 8: 1 }, 0.95, 16_000],
  [{ 8: 3 }, 0.5, 16_000],
])("quantileMs of the bucket counts %j at the quantile %d is %d ms", (buckets, quantile, expected) => {
  expect(quantileMs(toCounts(buckets), quantile)).toBe(expected);
});

test("quantileMs returns undefined if there are no replies", () => {
  expect(quantileMs(toCounts({}), 0.5)).toBeUndefined();
  expect(quantileMs([], 0.5)).toBeUndefined();
});

import { expect, test } from "vitest";
import { estimateQuantile } from "./quantile.ts";

const buckets = new Map([
  [0.1, 50],
  [0.5, 90],
  [1, 100],
  [Infinity, 100],
]);

test("estimateQuantile interpolates linearly within a bucket", () => {
  expect(estimateQuantile(0.5, buckets)).toBeCloseTo(0.1);
  expect(estimateQuantile(0.7, buckets)).toBeCloseTo(0.3);
  expect(estimateQuantile(0.99, buckets)).toBeCloseTo(0.95);
});

test("estimateQuantile returns undefined without observations, and the last finite bound for a quantile above it", () => {
  expect(estimateQuantile(0.5, new Map([[Infinity, 0]]))).toBeUndefined();
  expect(estimateQuantile(0.5, new Map())).toBeUndefined();
  expect(
    estimateQuantile(
      0.9,
      new Map([
        [1, 1],
        [Infinity, 10],
      ]),
    ),
  ).toBe(1);
});

import { expect, test } from "vitest";
import { computeCost, findPrice, formatCost } from "./cost.ts";
import { parseModelName } from "./model-name.ts";
import { BUILTIN_MODEL, createBuiltinSettings } from "./settings.ts";

test('a cost uses the price of the model, or of "*" if the model has none, and has ten decimal places; without a price, the cost is null', () => {
  const prices = { small: { input: 0.15, output: 0.6 }, "*": { input: 1, output: 2 } };
  expect(formatCost(computeCost(findPrice(prices, "small"), { tokensIn: 1_000, tokensOut: 500 }))).toBe("0.0004500000");
  expect(formatCost(computeCost(findPrice(prices, "other"), { tokensIn: 1, tokensOut: 1 }))).toBe("0.0000030000");
  expect(computeCost(findPrice({}, "other"), { tokensIn: 1, tokensOut: 1 })).toBeNull();
  expect(computeCost(findPrice({}, "constructor"), { tokensIn: 1, tokensOut: 1 })).toBeNull();
});

test("tokens that the provider read from its cache or wrote to it have prices of their own, or else the price of the input", () => {
  const tokens = { tokensIn: 1_000, tokensOut: 100, tokensCached: 600, tokensCacheWritten: 300 };
  expect(computeCost({ input: 10, output: 20, cached_input: 1, cache_write: 12.5 }, tokens)).toBeCloseTo(
    (100 * 10 + 600 * 1 + 300 * 12.5 + 100 * 20) / 1e6,
    10,
  );
  expect(computeCost({ input: 10, output: 20 }, tokens)).toBeCloseTo((1_000 * 10 + 100 * 20) / 1e6, 10);
});

test("the built-in model has a price, and it is 0", () => {
  const { prices } = createBuiltinSettings();
  expect(
    computeCost(findPrice(prices, parseModelName(BUILTIN_MODEL)?.name ?? ""), { tokensIn: 1_000, tokensOut: 500 }),
  ).toBe(0);
});

import { expect, test } from "vitest";
import { computeCost, findPrice, formatCost } from "./cost.ts";
import { parseModelName } from "./model-name.ts";
import { BUILTIN_MODEL, createBuiltinSettings } from "./settings.ts";

test('a cost uses the price of the model, or of "*" if the model has none, and has ten decimal places; without a price, the cost is null', () => {
  const prices = { small: { input: 0.15, output: 0.6 }, "*": { input: 1, output: 2 } };
  expect(formatCost(computeCost(findPrice(prices, "small"), 1_000, 500))).toBe("0.0004500000");
  expect(formatCost(computeCost(findPrice(prices, "other"), 1, 1))).toBe("0.0000030000");
  expect(computeCost(findPrice({}, "other"), 1, 1)).toBeNull();
  expect(computeCost(findPrice({}, "constructor"), 1, 1)).toBeNull();
});

test("the built-in model has a price, and it is 0", () => {
  const { prices } = createBuiltinSettings();
  expect(computeCost(findPrice(prices, parseModelName(BUILTIN_MODEL)?.name ?? ""), 1_000, 500)).toBe(0);
});

import { expect, test } from "vitest";
import { computeCost, findPrice, formatCost } from "./cost.ts";
import { parseModelName } from "./model-name.ts";

test("a model is split at its first colon", () => {
  expect(parseModelName("openai:gpt-4o")).toEqual({ provider: "openai", name: "gpt-4o" });
  expect(parseModelName("ollama:llama3.2:3b")).toEqual({ provider: "ollama", name: "llama3.2:3b" });
  expect(parseModelName("openrouter:meta-llama/llama-3:free")).toEqual({
    provider: "openrouter",
    name: "meta-llama/llama-3:free",
  });
});

test("an invalid model is refused", () => {
  for (const text of [
    "",
    "gpt-4o",
    ":x",
    "openai:",
    "Open AI:x",
    "openai:a b",
    "openai:a\0",
    `openai:${"x".repeat(201)}`,
    "openai:é",
  ]) {
    expect(parseModelName(text)).toBeUndefined();
  }
});

test("the cost has ten places, from a price per million tokens by name or for every other model", () => {
  const prices = { small: { input: 0.15, output: 0.6 }, "*": { input: 1, output: 2 } };
  expect(formatCost(computeCost(findPrice(prices, "small"), 1_000, 500))).toBe("0.0004500000");
  expect(formatCost(computeCost(findPrice(prices, "other"), 1, 1))).toBe("0.0000030000");
  expect(computeCost(findPrice({}, "other"), 1, 1)).toBeNull();
  expect(computeCost(findPrice({}, "constructor"), 1, 1)).toBeNull();
});

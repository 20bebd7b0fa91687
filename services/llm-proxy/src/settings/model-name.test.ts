import { expect, test } from "vitest";
import { parseModelName } from "./model-name.ts";

test("a model's name is split at its first colon", () => {
  expect(parseModelName("openai:gpt-4o")).toEqual({ provider: "openai", name: "gpt-4o" });
  expect(parseModelName("ollama:llama3.2:3b")).toEqual({ provider: "ollama", name: "llama3.2:3b" });
  expect(parseModelName("openrouter:meta-llama/llama-3:free")).toEqual({
    provider: "openrouter",
    name: "meta-llama/llama-3:free",
  });
});

test("parseModelName returns undefined for an invalid model name", () => {
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

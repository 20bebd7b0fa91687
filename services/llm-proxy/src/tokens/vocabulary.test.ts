import { expect, test } from "vitest";
import { findVocabulary } from "./vocabulary.ts";

test.each([
  ["gpt-4o-mini", "o200k_base"],
  ["openai/gpt-4.1-nano", "o200k_base"],
  ["gpt-5", "o200k_base"],
  ["GPT-4o-2024-11-20", "o200k_base"],
  ["openai/gpt-oss-120b", "o200k_base"],
  ["o3", "o200k_base"],
  ["o4-mini", "o200k_base"],
  ["ft:gpt-4o-mini-2024-07-18:shop::9aBcDe", "o200k_base"],
  ["ft:gpt-3.5-turbo-0125:shop:answers:9aBcDe", "cl100k_base"],
  ["gpt-4", "cl100k_base"],
  ["gpt-4-turbo", "cl100k_base"],
  ["gpt-3.5-turbo", "cl100k_base"],
  ["gpt-35-turbo", "cl100k_base"],
  ["llama3.2:3b", undefined],
  ["o1abc", undefined],
  ["claude-sonnet-4-5", undefined],
  ["default", undefined],
])("the vocabulary of %s is %s", (model, vocabulary) => {
  expect(findVocabulary(model)).toBe(vocabulary);
});

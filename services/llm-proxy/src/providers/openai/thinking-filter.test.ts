import { cpuMsOf } from "@parley/test-support";
import { expect, test } from "vitest";
import { ThinkingFilter } from "./thinking-filter.ts";

const filter = (text: string, size: number) => {
  const thinkingFilter = new ThinkingFilter();
  let filtered = "";
  for (let at = 0; at < text.length; at += size) filtered += thinkingFilter.push(text.slice(at, at + size));
  return filtered + thinkingFilter.end();
};

test.each([
  ["<think>a</think>b", "b"],
  ["\n\n <think>\na\n</think>\n\nb", "b"],
  ["<THINKING>İ</thinking>b", "b"],
  ["<think>a</think><think>b</think>\nc <think>", "c <think>"],
  ["<thought>a</thought>b", "b"],
  ["<reasoning>a</reasoning>b", "b"],
  ["<think></think>b", "b"],
  ["<seed:think>a</seed:think>b", "b"],
  ["[THINK]a[/THINK]b", "b"],
  ["◁think▷a◁/think▷b", "b"],
  ["<|begin_of_thought|>a<|end_of_thought|>\n\nb", "b"],
  ["[think about it]", "[think about it]"],
  ["<think>a<</think>b", "b"],
  ["<think>a </thinking> b</think>c", "c"],
  ["<think>a", ""],
  ["<think>a</think>", ""],
  ["<think>a</think> \n", ""],
  [" \n", ""],
  ["", ""],
  [" a", " a"],
  ["<thinks>a</thinks>", "<thinks>a</thinks>"],
  ["<thin", "<thin"],
  ["a<think>b</think>", "a<think>b</think>"],
  ["`<think>`", "`<think>`"],
  ["</think>a", "</think>a"],
])("filters %j to %j, however it is split", (text, expected) => {
  for (let size = 1; size <= Math.max(1, text.length); size++) expect(filter(text, size)).toBe(expected);
});

test("passes white space on once there is too much of it to hold back", () => {
  const thinkingFilter = new ThinkingFilter();
  expect(thinkingFilter.push(" ".repeat(2_000))).toHaveLength(2_000);
});

test("filters a million characters of thoughts in less than 2 s of CPU time", () => {
  const filterThoughts = () => expect(filter(`<think>${"a<".repeat(500_000)}</think>b`, 3)).toBe("b");
  expect(cpuMsOf(filterThoughts)).toBeLessThan(2_000);
});

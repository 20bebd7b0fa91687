import { cpuMsOf } from "@parley/test-support";
import { expect, test } from "vitest";
import { ThinkingFilter } from "./thinking-filter.ts";

const filterPieces = (pieces: readonly string[]) => {
  const thinkingFilter = new ThinkingFilter();
  return pieces.map((piece) => thinkingFilter.push(piece)).join("") + thinkingFilter.end();
};
const filter = (text: string, size: number) =>
  filterPieces(
    Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size)),
  );
const FINAL = "<|start|>assistant<|channel|>final<|message|>";

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
  ["<think>a<think>b</think>c</think>d", "d"],
  ["[THINK]a[THINK]b[/THINK]c[THINK]d", "c[THINK]d"],
  ["<think>a<think>b<Think>c</think>d</think>e</think>\n\nf", "f"],
  ["<think>a<think>b</think>\nc", "c"],
  ["<think>a<think>b</think>c</th", "c</th"],
  ["<think>a<think>b</think>c <think> d </think>", "c <think> d </think>"],
  ["<think>a<think>b</think> <think>c</think>d", "d"],
  ["<think>a</think>b</think>c", "b</think>c"],
  [`<|channel|>analysis<|message|>a<|end|>${FINAL}b`, "b"],
  [`<|start|>assistant<|channel|>analysis<|message|>a<|end|>${FINAL}b`, "b"],
  [`<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>b<|end|>${FINAL}c`, "c"],
  [`<|channel|>analysis<|message|>a final <|end|>${FINAL}\n\nb ${FINAL}`, `b ${FINAL}`],
  ["<|channel|>final<|message|>a", "a"],
  ["<|channel|>analysis<|message|>a<|end|>", ""],
  ["<|channel", "<|channel"],
  ["<|start|>user", "<|start|>user"],
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
  for (let at = 0; at <= text.length; at++) expect(filterPieces([text.slice(0, at), text.slice(at)])).toBe(expected);
});

test("passes white space on once there is too much of it to hold back", () => {
  const thinkingFilter = new ThinkingFilter();
  expect(thinkingFilter.push(" ".repeat(2_000))).toHaveLength(2_000);
});

test("passes text on if too much of it follows inner thoughts without a closing mark", () => {
  const thinkingFilter = new ThinkingFilter();
  expect(thinkingFilter.push(`<think>Names <think>.</think>${"a".repeat(1_000)}`)).toBe("");
  expect(thinkingFilter.push("b".repeat(100))).toBe("a".repeat(1_000) + "b".repeat(100));
  expect(thinkingFilter.push("</think>")).toBe("</think>");
});

test("filters a million characters of thoughts in less than 2 s of CPU time", () => {
  const filterThoughts = () => expect(filter(`<think>${"a<".repeat(500_000)}</think>b`, 3)).toBe("b");
  expect(cpuMsOf(filterThoughts)).toBeLessThan(2_000);
});

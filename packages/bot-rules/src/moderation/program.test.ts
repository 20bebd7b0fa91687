import { RE2JS } from "re2js";
import { expect, test } from "vitest";
import { computeMaxMatchLength } from "./max-match-length.ts";
import { readProgram } from "./program.ts";

test("re2js stores a pattern's program in re2Input.prog, its instructions in inst and their characters in runes", () => {
  const compiled = RE2JS.compile("a[b-d]");
  expect(compiled.re2Input).toHaveProperty("prog.start");
  expect(compiled.re2Input).toHaveProperty("prog.inst");
  const { inst, start } = readProgram(compiled);
  expect(inst).toHaveLength(compiled.programSize());
  const [first, second] = [inst[start], inst[inst[start]?.out ?? 0]];
  expect([first, second].map((each) => Array.from(each?.runes ?? []))).toEqual([[97], [98, 100]]);
});

test("computeMaxMatchLength throws if re2Input.prog is missing", () => {
  const compiled = RE2JS.compile("a");
  (compiled.re2Input as unknown as { prog: unknown }).prog = undefined;
  expect(() => computeMaxMatchLength(compiled)).toThrow("cannot be measured");
});

import { RE2JS } from "re2js";
import { expect, test } from "vitest";
import { readProgram } from "./program.ts";

test("re2js stores a pattern's program in re2Input.prog, its instructions in inst and their characters in runes", () => {
  const compiled = RE2JS.compile("a[b-d]");
  expect(compiled.re2Input).toHaveProperty("prog.start");
  expect(compiled.re2Input).toHaveProperty("prog.inst");
  const { inst, start } = readProgram(compiled);
  expect(inst).toHaveLength(compiled.programSize());
  const [first, second] = [inst[start], inst[inst[start]?.out ?? 0]];
  // 97 is the code point of "a"; 98 and 100 are those of "b" and "d".
  expect([first, second].map((each) => Array.from(each?.runes ?? []))).toEqual([[97], [98, 100]]);
});

import { expect, test } from "vitest";
import { type FileResult, filesToRepeat, summarize } from "./test-results.ts";

const passed = (file: string): FileResult => ({ file, passed: 2, failures: [] });
const failed = (file: string, ...failures: string[]): FileResult => ({ file, passed: 1, failures });

test("filesToRepeat returns the failed files of all failed steps", () => {
  expect(filesToRepeat([[passed("a"), failed("b", "x")], [failed("c", "x", "y")]])).toEqual(["b", "c"]);
});

test.each<[string, string, FileResult[][]]>([
  ["a step has no results", "a step failed without a failed file", [[failed("a", "x")], []]],
  ["a step failed without a failed file", "a step failed without a failed file", [[passed("a")]]],
  ["an error belongs to no file", "an error belongs to no file", [[failed("a", "x"), { passed: 0, failures: ["x"] }]]],
  ["six files failed", "6 files failed", [["a", "b", "c", "d", "e", "f"].map((file) => failed(file, "x"))]],
])("filesToRepeat throws if %s", (_, message, steps) => {
  expect(() => filesToRepeat(steps)).toThrow(message);
});

test("summarize replaces the first result of a repeated file, and reports whether the file failed twice", () => {
  const first = [passed("a"), failed("b", "first b", "second b"), failed("c", "first c"), failed("d", "first d")];
  expect(summarize(first, [passed("b"), failed("c", "again c\nat line 1")])).toEqual([
    "FAILED: d",
    "  first d",
    "FAILED: c",
    "  again c\n  at line 1",
    "FLAKY: b failed, and passed when it was repeated",
    "  first b",
    "6 passed, 2 failed",
  ]);
});

test("summarize keeps errors outside of the test files", () => {
  const outside = { passed: 0, failures: ["x"] };
  expect(summarize([passed("a"), outside], [outside])).toEqual([
    "FAILED: an error outside of the test files",
    "  x",
    "FAILED: an error outside of the test files",
    "  x",
    "2 passed, 2 failed",
  ]);
});

import { cpuMsOf } from "@parley/test-support";
import { RE2JS } from "re2js";
import { expect, test } from "vitest";
import { estimatePatternSize } from "./pattern-size.ts";

test.each([
  "",
  "a|b|c",
  "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
  "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,9})?(Z|[+-]\\d{2}:\\d{2})$",
  "^[a-zA-Z0-9_-]{1,1000}$",
  "[\\pL\\pN]{1000}",
  "(?:(?:a){30}){33}",
  "((a{2}|b{3,}){0,9}?c*)+",
  "(?<name>x[]-z]{2})\\Q{9}(\\E[[:alpha:]\\]]{0,7}",
  "a{,5}{x}",
])("the estimate of %j is at least the real size and at most five times", (pattern) => {
  const size = RE2JS.compile(RE2JS.translateRegExp(pattern)).programSize();
  // Every program has instructions for its beginning and its end.
  expect(estimatePatternSize(pattern) + 4).toBeGreaterThanOrEqual(size);
  expect(estimatePatternSize(pattern)).toBeLessThanOrEqual(5 * size);
});

test("the estimate of 16 KB takes less than 100 ms of CPU time, also of parts that do not belong together", () => {
  for (const unit of ["\\pL{1000}", "(", ")", "(a{9}", "{9}", "[", "\\Q", "\\", "(?:", "[[:"])
    expect(
      cpuMsOf(() => void estimatePatternSize(unit.repeat(16_000 / unit.length))),
      unit,
    ).toBeLessThan(100);
  expect(estimatePatternSize("(?:\\pL{999}){999}")).toBeGreaterThan(900_000);
  expect(estimatePatternSize(`${"(".repeat(100)}a${"{1000})".repeat(100)}`)).toBeGreaterThan(1e9);
});

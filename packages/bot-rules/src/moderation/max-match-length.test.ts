import { RE2JS } from "re2js";
import { expect, test } from "vitest";
import { computeMaxMatchLength } from "./max-match-length.ts";
import { compilePattern } from "./pattern.ts";

test.each([
  ["secret", 6],
  ["colou?r", 6],
  ["\\bfoo\\b", 3],
  ["a{2,5}(bb|ccc)?", 8],
  ["[0-9]{4}[ -]?[0-9]{4}", 9],
  // Some scripts' digits have two UTF-16 units.
  ["\\d{4}[ -]?\\d{4}", 17],
  ["[a-z]{3}", 3],
  ["👋{3}", 6],
  [".", 2],
])("a match of %s has at most %i UTF-16 units", (source, maxMatchLength) => {
  // `.` also matches characters outside the Basic Multilingual Plane, which have two UTF-16 units.
  expect(compilePattern(source).maxMatchLength).toBe(maxMatchLength);
});

test("computeMaxMatchLength throws if re2Input.prog is missing", () => {
  const compiled = RE2JS.compile("a");
  (compiled.re2Input as unknown as { prog: unknown }).prog = undefined;
  expect(() => computeMaxMatchLength(compiled)).toThrow("has no readable program");
});

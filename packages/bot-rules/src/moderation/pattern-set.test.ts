import fc from "fast-check";
import { expect, test } from "vitest";
import { compilePattern } from "./pattern.ts";
import { PatternSet } from "./pattern-set.ts";

const patterns = fc.array(
  fc
    .array(
      fc.constantFrom(
        "a",
        "b",
        "ab",
        "c",
        ".",
        ".{0,9}",
        "[^a]",
        "\\b",
        "^",
        "$",
        "(a|bc)",
        "a*",
        "b+",
        "é",
        "\\pL",
        "👋",
      ),
      { minLength: 1, maxLength: 5 },
    )
    .map((parts) => parts.join("")),
  { maxLength: 12 },
);
const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "A", " ", "\n", "é", "👋"), maxLength: 60 });

test("findFirstMatch returns the same index as testing each pattern alone, in order", () => {
  fc.assert(
    fc.property(patterns, fc.array(text, { minLength: 1, maxLength: 4 }), (sources, texts) => {
      const set = new PatternSet(sources);
      const matchers = sources.map(compilePattern);
      for (const each of texts) expect(set.findFirstMatch(each)).toBe(matchers.findIndex(({ test }) => test(each)));
    }),
    { numRuns: 150 },
  );
}, 30_000);

test("findFirstMatch returns the index of the first matching pattern if the patterns are in several groups", () => {
  const large = Array.from({ length: 9 }, (_, number) => `x{200}${number}`);
  const set = new PatternSet([...large, "late", ...large, "later"]);
  // `size` is the number of instructions of all compiled patterns. A group of several patterns has at most 250.
  expect(set.size).toBeGreaterThan(3_000);
  expect(set.findFirstMatch("a later one")).toBe(9);
  expect(set.findFirstMatch("nothing")).toBe(-1);
  expect(set.findFirstMatch(`${"x".repeat(200)}3 late`)).toBe(3);
});

test("findFirstMatch ignores a match that starts before `searchFrom`, and a match at the end of an incomplete text", () => {
  const set = new PatternSet(["secret"]);
  expect(set.findFirstMatch("secret word", 1)).toBe(-1);
  expect(set.findFirstMatch("a secret", 1, false)).toBe(-1);
  expect(set.findFirstMatch("a secret", 1, true)).toBe(0);
  expect(set.findFirstMatch("a secret.", 1, false)).toBe(0);
});

import { describe, expect, test } from "vitest";
import { compilePattern, moderate } from "./pattern.ts";

const list = (...patterns: string[]) =>
  patterns.map((pattern) => ({
    pattern: { pattern, reason: pattern, fallback: "" },
    matcher: compilePattern(pattern),
  }));
const isBlocked = (message: string, pattern: string) => moderate(message, list(pattern), "f") !== undefined;

describe("a pattern", () => {
  test.each([
    ["you are an IDIOT, sir", "idiot"],
    ["ПРИВЕТ", "привет"],
    ["ｉｄｉｏｔ", "idiot"],
    ["i\u200bd\u00adi\u2060o\ufefft", "idiot"],
    ["id\u{e0069}iot", "idiot"],
    ["cafe\u0301", "café"],
    ["cafe\u200b\u0301", "café"],
    ["café", "cafe\u0301"],
    ["oﬃce", "office"],
    ["two\nlines", "^two\\s+lines$"],
  ])("finds %j with %s", (message, pattern) => expect(isBlocked(message, pattern)).toBe(true));

  test.each([
    ["you are nice", "idiot"],
    ["idiotic", "\\bidiot\\b"],
  ])("does not find %j with %s", (message, pattern) => expect(isBlocked(message, pattern)).toBe(false));

  test.each(["(a+)+$", "(a+)+$b", "(x+x+)+y", "(a|a)*b", "([a-zA-Z]+)*1"])(
    "%s is matched against 4,000 characters in at most 10 ms",
    (pattern) => {
      const patterns = list(pattern);
      moderate("warm up", patterns, "f");
      const started = performance.now();
      moderate("a".repeat(4_000), patterns, "f");
      expect(performance.now() - started).toBeLessThan(10);
    },
  );

  test.each(["(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", "(a)\\1", "[", "a**", "\\p{Nothing}", "(a{1000}){1000}"])(
    "%s is refused as no RE2",
    (pattern) => expect(() => compilePattern(pattern)).toThrow("not valid RE2"),
  );

  test.each([".{0,1000}z", "((a{1,100}){1,10}b)"])("%s is refused as too large", (pattern) =>
    expect(() => compilePattern(pattern)).toThrow("too large"),
  );
});

test("the first pattern that matches decides, with its own fallback or else the bot's", () => {
  const [first, second] = list("rude", "ru");
  if (first === undefined || second === undefined) throw new Error("two patterns");
  const own = { ...second, pattern: { ...second.pattern, fallback: "Own." } };
  expect(moderate("how rude", [first, own], "Bot's.")).toEqual({ reason: "rude", fallback: "Bot's." });
  expect(moderate("how rude", [own, first], "Bot's.")).toEqual({ reason: "ru", fallback: "Own." });
  expect(moderate("kind", [first, own], "Bot's.")).toBeUndefined();
});

import { describe, expect, test, vi } from "vitest";
import { requireAcceptable, requireReplyPattern } from "./acceptance.ts";
import { compilePattern } from "./pattern.ts";

test("requireAcceptable's time limit does not count the time in which the thread waits for a core", () => {
  // A clock that jumps by more than the limit with each reading.
  let nowMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => {
    nowMs += 10_000;
    return nowMs;
  });
  try {
    expect(() => requireAcceptable({ pattern: "rude", isForReplies: false, otherPatterns: ["kind"] })).not.toThrow();
  } finally {
    clock.mockRestore();
  }
});

test.each(["a*b", "a+", "(ab|c)+d", "x{2,}", ".*", "\\w+@"])(
  "requireReplyPattern refuses %s, because the length of its matches has no upper bound",
  (source) => {
    const matcher = compilePattern(source);
    expect(matcher.maxMatchLength).toBe(Number.POSITIVE_INFINITY);
    expect(() => requireReplyPattern(matcher)).toThrow("must be limited");
  },
);

test.each(["x?", "\\b", "", "(a|)", "^$"])(
  "requireReplyPattern refuses %j, because it matches the empty string",
  (source) => {
    expect(() => requireReplyPattern(compilePattern(source))).toThrow("empty string");
  },
);

describe("requireAcceptable", () => {
  const accept = (pattern: string) => requireAcceptable({ pattern, isForReplies: false, otherPatterns: [] });

  test.each([
    ["a heart with its variation selector", "❤\ufe0f", "the invisible character U+FE0F"],
    ["an emoji with a joiner", "👩\u200d💻", "the invisible character U+200D"],
    ["a zero-width space", "sec\u200bret", "the invisible character U+200B"],
    ["a no-break space", "credit\u00a0card", 'U+00A0, which is replaced with " "'],
    ["an ellipsis", "wait…", 'U+2026, which is replaced with "..."'],
    ["a full-width letter", "Ａ{2}", 'U+FF21, which is replaced with "A"'],
  ])("refuses a pattern with %s, because normalising removes or replaces a character", (_, pattern, message) =>
    expect(() => accept(pattern)).toThrow(message),
  );

  test.each([
    ["\\b赌博\\b", "without spaces between words"],
    ["\\b(casino|คาสิโน)\\b", "without spaces between words"],
    ["\\bカジノ", "without spaces between words"],
    ["賭け\\B", "without spaces between words"],
    ["\\p{Han}\\b", "without spaces between words"],
    ["казин\\w{0,3}", "write [\\pL\\pM\\pN_] instead"],
    ["[\\w-]é", "write [\\pL\\pM\\pN_] instead"],
    ["\\Wказино", "[^\\pL\\pM\\pN_] instead of \\W"],
  ])("refuses %s, and names what to write", (pattern, message) => expect(() => accept(pattern)).toThrow(message));

  test.each([
    "\\bказино\\b",
    "赌博",
    "\\bcredit\\w{0,5}",
    "\\\\b赌",
    "\\Q\\b\\E赌",
    "казин[\\pL\\pM\\pN_]{0,3}",
    "İstanbul",
    "карта \\d{4}",
  ])("accepts %s", (pattern) => expect(() => accept(pattern)).not.toThrow());

  test.each(["cafe\u0301", "Grüße", "안녕", "क\u093c", "👋{3}", "[一-龥]", "\\x{200B}?secret", "شکر"])(
    "accepts %s, because normalising changes no character of its NFC form",
    (pattern) => expect(() => accept(pattern)).not.toThrow(),
  );
});

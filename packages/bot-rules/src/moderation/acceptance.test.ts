import { expect, test, vi } from "vitest";
import { requireAcceptable, requireReplyPattern } from "./acceptance.ts";
import { compilePattern } from "./pattern.ts";

test("the time limit for compiling does not count the time in which the thread waits for a core", () => {
  let nowMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => {
    nowMs += 10_000;
    return nowMs;
  });
  try {
    expect(() => requireAcceptable({ pattern: "rude", isForReplies: false, others: ["kind"] })).not.toThrow();
  } finally {
    clock.mockRestore();
  }
});

test.each(["a*b", "a+", "(ab|c)+d", "x{2,}", ".*", "\\w+@"])(
  "a pattern for replies must not be %s, whose matches have no upper bound",
  (source) => {
    const matcher = compilePattern(source);
    expect(matcher.maxMatchLength).toBe(Number.POSITIVE_INFINITY);
    expect(() => requireReplyPattern(matcher)).toThrow("must be limited");
  },
);

test.each(["x?", "\\b", "", "(a|)", "^$"])(
  "a pattern for replies must not be %j, which matches the empty string",
  (source) => {
    expect(() => requireReplyPattern(compilePattern(source))).toThrow("empty string");
  },
);

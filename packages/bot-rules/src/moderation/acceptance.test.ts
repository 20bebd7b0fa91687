import { expect, test, vi } from "vitest";
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
    expect(() => requireAcceptable({ pattern: "rude", isForReplies: false, others: ["kind"] })).not.toThrow();
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

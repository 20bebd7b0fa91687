import { expect, test, vi } from "vitest";
import { requireAcceptable } from "./acceptance.ts";

test("a pattern is accepted although this thread waits long for a core while the patterns are compiled", () => {
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

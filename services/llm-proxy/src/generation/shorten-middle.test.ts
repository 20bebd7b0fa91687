import { expect, test } from "vitest";
import { estimateTokens } from "../tokens/index.ts";
import { shortenMiddle } from "./shorten-middle.ts";

test.each([
  ["words", "Where is my order of rye bread? ".repeat(500)],
  ["one long word", "x".repeat(20_000)],
  ["emoji", "🎂".repeat(4_000)],
  ["Chinese", "我想退货。".repeat(2_000)],
  ["digits", "4111".repeat(3_000)],
  ["expensive ends and a cheap middle", `${"🎂".repeat(500)}${"word ".repeat(2_000)}${"🎂".repeat(500)}`],
])("shortens %s in the middle, within the limit and without half characters", (_, text) => {
  for (const limit of [1, 5, 50, 500, 1_000]) {
    const shortened = shortenMiddle(text, limit);
    expect(estimateTokens(shortened)).toBeLessThanOrEqual(Math.max(limit, 4));
    expect(shortened).toContain("[…]");
    expect(shortened.isWellFormed()).toBe(true);
    const [start = "", end = ""] = shortened.split("[…]");
    expect(text.startsWith(start.trimEnd())).toBe(true);
    expect(text.endsWith(end.trimStart())).toBe(true);
    if (limit === 1_000) expect(estimateTokens(shortened)).toBeGreaterThan(400);
  }
});

test.each(["", "short", "🎂"])("keeps %j", (text) => expect(shortenMiddle(text, 10)).toBe(text));

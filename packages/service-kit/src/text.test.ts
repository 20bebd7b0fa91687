import { expect, test } from "vitest";
import { isLongerThan } from "./text.ts";

test("isLongerThan counts code points, not UTF-16 code units", () => {
  expect(isLongerThan("😀".repeat(4_000), 4_000)).toBe(false);
  expect(isLongerThan("😀".repeat(4_001), 4_000)).toBe(true);
  expect(isLongerThan(`${"😀".repeat(3_999)}ab`, 4_000)).toBe(true);
  expect(isLongerThan("", 0)).toBe(false);
});

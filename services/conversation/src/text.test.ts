import { expect, test } from "vitest";
import { withoutNul } from "./text.ts";

test("withoutNul replaces each NUL with U+FFFD", () => {
  expect(withoutNul("a\0b\0")).toBe("a\uFFFDb\uFFFD");
});

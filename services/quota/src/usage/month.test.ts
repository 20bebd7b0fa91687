import { expect, test } from "vitest";
import { resetsAt } from "./month.ts";

test("a count starts anew on the first of the next month, also over a year's end", () => {
  expect(resetsAt("2026-11")).toBe("2026-12-01T00:00:00Z");
  expect(resetsAt("2026-12")).toBe("2027-01-01T00:00:00Z");
});

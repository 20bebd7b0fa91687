import { expect, test } from "vitest";
import { computeResetTime } from "./month.ts";

test("a month's usage resets on the first of the next month, also in December", () => {
  expect(computeResetTime("2026-11")).toBe("2026-12-01T00:00:00Z");
  expect(computeResetTime("2026-12")).toBe("2027-01-01T00:00:00Z");
});

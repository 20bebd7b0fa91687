import { expect, test } from "vitest";
import { parseMonth } from "./month.ts";

test("parseMonth accepts only YYYY-MM and an empty text", () => {
  expect(parseMonth("2026-11")).toBe("2026-11");
  expect(parseMonth("")).toBeUndefined();
  for (const bad of ["2026-13", "2026-1", "2026-00", "26-11", "2026-11-01", " 2026-11"]) {
    expect(() => parseMonth(bad)).toThrow("month must look like");
  }
});

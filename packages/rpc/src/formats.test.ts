import { expect, test } from "vitest";
import { isDay, isEmail, isLongerThan, isMonth, isUtcTime } from "./formats.ts";

test.each([
  ["2026-02-28T10:00:00Z", true],
  ["2024-02-29T23:59:59.123456Z", true],
  ["2026-02-31T00:00:00Z", false],
  ["2026-02-29T00:00:00Z", false],
  ["2026-04-31T00:00:00Z", false],
  ["0000-01-01T00:00:00Z", false],
  ["2026-01-01T00:00:00+01:00", false],
])("isUtcTime(%j) is %s", (text, expected) => {
  expect(isUtcTime(text)).toBe(expected);
});

test("isMonth accepts only YYYY-MM", () => {
  expect(isMonth("2026-11")).toBe(true);
  for (const bad of ["2026-13", "2026-1", "2026-00", "26-11", "2026-11-01", " 2026-11", ""])
    expect(isMonth(bad)).toBe(false);
});

test("isDay refuses a day that does not exist", () => {
  expect(isDay("2024-02-29")).toBe(true);
  for (const bad of ["2026-02-30", "2026-2-3", "", "2026-11"]) expect(isDay(bad)).toBe(false);
});

test("isEmail accepts one plain address", () => {
  for (const address of ["ada@example.com", "Ada.L+x@Example.COM", `a@${"b".repeat(63)}.${"c".repeat(63)}.de`])
    expect(isEmail(address)).toBe(true);
  const refused = [
    "",
    "ada",
    "@example.com",
    "ada@localhost",
    "ada@example.com, b@example.com",
    "Ada <ada@example.com>",
  ];
  const injected = ["ada@example.com\r\nBcc: b@example.com", '"a b"@example.com', "a..b@example.com", "ada@-a.com"];
  const long = [`${"a".repeat(65)}@example.com`, `a@${"b.".repeat(125)}com`];
  for (const text of [...refused, ...injected, ...long]) expect(isEmail(text)).toBe(false);
});

test("isLongerThan counts code points, not UTF-16 code units", () => {
  expect(isLongerThan("😀".repeat(4_000), 4_000)).toBe(false);
  expect(isLongerThan("😀".repeat(4_001), 4_000)).toBe(true);
  expect(isLongerThan(`${"😀".repeat(3_999)}ab`, 4_000)).toBe(true);
  expect(isLongerThan("", 0)).toBe(false);
});

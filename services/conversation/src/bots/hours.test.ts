import { expect, test } from "vitest";
import { isHoursRange, isWithinHours } from "./hours.ts";

test.each(["mon 00:00-24:00", "mon-fri 09:00-17:30", "sat-mon 10:15-10:16"])("accepts %s", (range) => {
  expect(isHoursRange(range)).toBe(true);
});

test.each([
  "",
  "mon",
  "mon-fri",
  "9:00-17:00",
  "mon 17:00-09:00",
  "mon 09:00-09:00",
  "mon 09:60-17:00",
  "mon 09:00-24:01",
  "Mon 09:00-17:00",
])("refuses %j", (range) => {
  expect(isHoursRange(range)).toBe(false);
});

test.each([
  // A Friday in winter: Berlin is an hour ahead.
  ["2026-11-27T08:00:00Z", ["mon-fri 09:00-17:30"], true],
  ["2026-11-27T07:59:59Z", ["mon-fri 09:00-17:30"], false],
  ["2026-11-27T16:29:00Z", ["mon-fri 09:00-17:30"], true],
  ["2026-11-27T16:30:00Z", ["mon-fri 09:00-17:30"], false],
  // In summer it is two hours ahead.
  ["2026-07-03T07:00:00Z", ["mon-fri 09:00-17:30"], true],
  // Saturday in Berlin begins before that of UTC.
  ["2026-11-27T23:30:00Z", ["sat 00:00-24:00"], true],
  ["2026-11-27T22:30:00Z", ["sat 00:00-24:00"], false],
  ["2026-11-29T12:00:00Z", ["sat-mon 10:00-24:00"], true],
  ["2026-12-01T12:00:00Z", ["sat-mon 10:00-24:00"], false],
  ["2026-12-01T12:00:00Z", ["wed 00:00-24:00", "tue 13:00-14:00"], true],
  ["2026-12-01T12:00:00Z", [], true],
])("%s within %j in Berlin: %j", (time, ranges, isOpen) => {
  expect(isWithinHours(ranges, "Europe/Berlin", new Date(time))).toBe(isOpen);
});

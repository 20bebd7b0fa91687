import { expect, test } from "vitest";
import { parseTime } from "./time.ts";

test.each([
  ["1970-01-01", 0n],
  // A time before 1970 is read as 0.
  ["1969-12-31T23:59:59Z", 0n],
  ["2026-11-21T02:32:49.562223+00:00", 1_795_228_369_562_223n],
  // In a query, an unencoded + means a space.
  ["2026-11-21T02:32:49.562223 00:00", 1_795_228_369_562_223n],
  ["2026-11-21T04:32:49.5+02:00", 1_795_228_369_500_000n],
  ["2026-11-20t21:32:49-05:00", 1_795_228_369_000_000n],
  ["2028-02-29T00:00:00Z", 1_835_395_200_000_000n],
])("parseTime reads %s as %s microseconds since 1970", (text, microseconds) => {
  expect(parseTime(text)).toBe(microseconds);
});

test.each([
  "2026-02-30",
  "2026-13-01",
  "2026-1-1",
  "2026-11-21T02:32",
  "2026-11-21T25:00:00Z",
  "2026-11-21T02:32:49",
  "1",
  "",
])("parseTime refuses %j", (text) => {
  expect(parseTime(text)).toBeUndefined();
});

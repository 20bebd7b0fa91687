import { expect, test } from "vitest";
import { formatElapsed, formatRetention } from "./durations.ts";

test.each([
  [0, "no limit"],
  [30, "30 minutes"],
  [60, "1 hour"],
  [90, "90 minutes"],
  [720, "12 hours"],
  [1_440, "1 day"],
  [2_160, "36 hours"],
  [129_600, "90 days"],
  [5_256_000, "3,650 days"],
])("formats a retention of %i minutes as %s", (minutes, text) => {
  expect(formatRetention(minutes)).toBe(text);
});

test.each([
  [-500, "0:00"],
  [59_999, "0:59"],
  [125_000, "2:05"],
  [3_725_000, "1:02:05"],
])("formats %i elapsed milliseconds as %s", (ms, text) => {
  expect(formatElapsed(ms)).toBe(text);
});

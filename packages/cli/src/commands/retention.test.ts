import { expect, test } from "vitest";
import { formatRetention, parseRetention } from "./retention.ts";

test.each([
  ["0", 0, "without limit"],
  ["never", 0, "without limit"],
  ["10m", 10, "10 minutes"],
  ["60m", 60, "1 hour"],
  ["90m", 90, "90 minutes"],
  ["12h", 720, "12 hours"],
  ["24h", 1_440, "1 day"],
  ["90d", 129_600, "90 days"],
  ["3650d", 5_256_000, "3,650 days"],
])("the retention %s is %i minutes, shown as %s", (text, minutes, words) => {
  expect(parseRetention(text)).toBe(minutes);
  expect(formatRetention(minutes)).toBe(words);
});

test.each(["9m", "0m", "599s", "600s", "3651d", "87601h", "5256001m", "30", "-1d", "1.5h", "1h30m", "forever", ""])(
  "refuses the retention %j with the allowed range",
  (text) => {
    expect(() => parseRetention(text)).toThrow(
      "It must be a time from 10m to 3650d, such as 30m, 12h or 90d, or never.",
    );
  },
);

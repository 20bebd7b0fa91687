import { expect, test } from "vitest";
import { isUtcTime, parsePosition } from "./page-position.ts";

const TURN_ID = "0b7d5a3e-6f0c-4a53-9f0e-1d2c3b4a5f60";

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

test("a page token with an impossible date is refused", () => {
  expect(() => parsePosition(`2026-02-31T00:00:00Z ws_1 ${TURN_ID}`)).toThrow("page token");
});

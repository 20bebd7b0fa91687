import { expect, test } from "vitest";
import { formatDecimal, formatRounded, parseDecimal } from "./decimal.ts";

test.each([
  ["0", "0"],
  ["0.1780000000", "0.178"],
  ["12345.0123456789", "12345.0123456789"],
  ["-3.50", "-3.5"],
  ["90071992547409931.0000000001", "90071992547409931.0000000001"],
])("parseDecimal and formatDecimal convert %s to %s without rounding", (text, expected) => {
  expect(formatDecimal(parseDecimal(text))).toBe(expected);
});

test("parsed decimals add up without rounding", () => {
  expect(formatDecimal(parseDecimal("0.1") + parseDecimal("0.2"))).toBe("0.3");
});

test.each(["", "1,5", "1e3", "NaN", "1.00000000001"])("parseDecimal rejects %j", (text) => {
  expect(() => parseDecimal(text)).toThrow(RangeError);
});

test.each([
  ["0", "0.00"],
  ["0.1780000000", "0.178"],
  ["1234567.00005", "1,234,567.0001"],
  ["2.99995", "3.00"],
  ["-1234.5", "-1,234.50"],
  ["-0.00005", "-0.0001"],
  ["-0.00001", "0.00"],
])("formatRounded formats %s as %s, with at least two and at most four decimal places", (text, expected) => {
  expect(formatRounded(text, 4)).toBe(expected);
});

import { expect, it, onTestFinished, vi } from "vitest";
import { parseSeconds, parseSince, parseTime } from "./options.ts";

it("parseTime reads a date or a time as UTC unless the time has an offset, and refuses any other text", () => {
  const { TZ } = process.env;
  process.env.TZ = "America/New_York";
  onTestFinished(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  expect(parseTime("2026-11-22")).toBe("2026-11-22T00:00:00.000Z");
  expect(parseTime("2026-11-22T18:50:00")).toBe("2026-11-22T18:50:00.000Z");
  expect(parseTime("2026-11-22T18:50:00Z")).toBe("2026-11-22T18:50:00.000Z");
  expect(parseTime("2026-11-22T18:50:00-05:00")).toBe("2026-11-22T23:50:00.000Z");
  expect(() => parseTime("yesterday")).toThrow("Write it like");
});

it.each(["2026-02-30", "2026-11-31T10:00:00Z", "2026-13-01", "2026-11-22T25:00:00Z"])(
  "parseTime refuses the impossible time %s",
  (text) => expect(() => parseTime(text)).toThrow("Write it like"),
);

it("parseSeconds reads a number with a unit, and nothing else", () => {
  expect(["90s", "30m", "1h", "7d"].map(parseSeconds)).toEqual([90, 1_800, 3_600, 604_800]);
  expect(["", "7", "1w", "1.5h", "-1h"].map(parseSeconds)).toEqual(Array(5).fill(Number.NaN));
});

it("parseSince reads a duration before now or a time, and refuses any other text", () => {
  vi.useFakeTimers({ now: Date.parse("2026-11-22T18:50:00Z") });
  onTestFinished(() => void vi.useRealTimers());
  expect(parseSince("24h")).toBe("2026-11-21T18:50:00.000Z");
  expect(parseSince("2026-11-20")).toBe("2026-11-20T00:00:00.000Z");
  for (const text of ["", "yesterday", "999999999d", "24"]) expect(() => parseSince(text)).toThrow("Write it like 90m");
  expect(() => parseSince("2026-02-30")).toThrow("Write it like");
});

import { expect, test } from "vitest";
import { growth, type Samples, verdict } from "./verdict.ts";

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
const NOTHING = { hangs: 0, unended: 0, held: 0 };

/** Half an hour's memory, looked at every two seconds, with a collector's saw teeth. */
function memory(mibAt: (minute: number) => number): Samples {
  return Array.from({ length: 900 }, (_, look) => {
    const atMs = look * 2_000;
    return [atMs, (mibAt(atMs / MINUTE_MS) + (look % 7) * 3) * MIB] as const;
  });
}

test("memory that rises while a service warms up, and then goes up and down, is flat", () => {
  const warmUp = growth(
    memory((minute) => 100 + Math.min(minute, 10) * 4),
    10 * MINUTE_MS,
  );
  expect(warmUp.isFlat).toBe(true);
  expect(Math.abs(warmUp.mibAnHour)).toBeLessThan(5);
  expect(verdict(NOTHING, { "edge 0": warmUp })).toEqual([]);
});

test("a leak of a mebibyte a minute fails, and its slope is told", () => {
  const leak = growth(
    memory((minute) => 100 + minute),
    10 * MINUTE_MS,
  );
  expect(leak).toMatchObject({ isFlat: false, mibAnHour: expect.closeTo(60, 0) });
  expect(verdict(NOTHING, { "edge 0": leak })).toEqual([expect.stringMatching(/^edge 0 grew by (19|20)\.?\d* MiB/)]);
});

test("anything that hung, had no end or is held fails", () => {
  expect(verdict({ ...NOTHING, hangs: 1, held: 2 }, {})).toEqual(["hangs: 1, not 0", "held: 2, not 0"]);
});

test("a run that is too short to be judged says so", () => {
  expect(() => growth([[1, 1]], 0)).toThrow("run for longer");
});

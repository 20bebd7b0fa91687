import { expect, test } from "vitest";
import { findFailures, measureGrowth, type Samples } from "./evaluation.ts";

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
/** Some of the counts of main.ts. `held`: quota holds that are not settled at the end of the run. */
const ZERO_COUNTS = { hangs: 0, incomplete: 0, held: 0 };

/** Returns half an hour of memory samples, one every two seconds, with the sawtooth pattern of a garbage collector. */
function createSamples(mibAt: (minute: number) => number): Samples {
  return Array.from({ length: 900 }, (_, sample) => {
    const atMs = sample * 2_000;
    return [atMs, (mibAt(atMs / MINUTE_MS) + (sample % 7) * 3) * MIB] as const;
  });
}

test("reports no growth when memory rises only during warm-up", () => {
  const warmUp = measureGrowth(
    createSamples((minute) => 100 + Math.min(minute, 10) * 4),
    10 * MINUTE_MS,
  );
  expect(warmUp.isFlat).toBe(true);
  expect(Math.abs(warmUp.mibPerHour)).toBeLessThan(5);
  expect(findFailures(ZERO_COUNTS, { "edge 0": warmUp })).toEqual([]);
});

test("reports a leak of 1 MiB per minute with its size", () => {
  const leak = measureGrowth(
    createSamples((minute) => 100 + minute),
    10 * MINUTE_MS,
  );
  expect(leak).toMatchObject({ isFlat: false, mibPerHour: expect.closeTo(60, 0) });
  expect(findFailures(ZERO_COUNTS, { "edge 0": leak })).toEqual([
    expect.stringMatching(/^edge 0 grew by (19|20)\.?\d* MiB/),
  ]);
});

test("reports each count that is not 0", () => {
  expect(findFailures({ ...ZERO_COUNTS, hangs: 1, held: 2 }, {})).toEqual(["hangs: 1, not 0", "held: 2, not 0"]);
});

test("throws when the run is too short", () => {
  expect(() => measureGrowth([[1, 1]], 0)).toThrow("run for longer");
});

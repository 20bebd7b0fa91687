import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { measurePeak } from "./cpu.ts";

const INTERVAL_MS = 5;

test("measurePeak returns the result and the largest sample", async () => {
  const samples = [1, 9, 3];
  const sample = () => samples.shift() ?? 0;
  expect(await measurePeak(sample, INTERVAL_MS, () => sleep(100, "result"))).toEqual({ result: "result", peak: 9 });
});

test("measurePeak stops sampling when the work fails", async () => {
  let samples = 0;
  await expect(
    measurePeak(
      () => ++samples,
      INTERVAL_MS,
      () => Promise.reject(new Error("failed")),
    ),
  ).rejects.toThrow("failed");
  await sleep(20 * INTERVAL_MS);
  expect(samples).toBe(1);
});

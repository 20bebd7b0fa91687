import { expect, test } from "vitest";
import { FlushClock } from "./flush-clock.ts";

test("the window grows with the number of generations, up to 20 ms, and all generations share it", async () => {
  const busyClock = new FlushClock();
  for (let generation = 0; generation < 5_000; generation++) busyClock.addGeneration();
  const started = performance.now();
  const [first, second] = [busyClock.waitForFlush(), busyClock.waitForFlush()];
  expect(second).toBe(first);
  await first;
  const elapsedMs = performance.now() - started;
  expect(elapsedMs).toBeGreaterThan(15);
  expect(elapsedMs).toBeLessThan(200);
});

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FlushClock } from "./flush-clock.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

function createClock(generations: number): FlushClock {
  const clock = new FlushClock();
  for (let generation = 0; generation < generations; generation++) clock.addGeneration();
  return clock;
}

test.each([
  [10, 1],
  [55, 5],
  [200, 20],
  [5_000, 20],
])("with %i generations the flush window takes %i ms, and all generations share it", async (generations, windowMs) => {
  const clock = createClock(generations);
  const flush = clock.waitForFlush();
  expect(clock.waitForFlush()).toBe(flush);
  let isFlushed = false;
  void flush.then(() => {
    isFlushed = true;
  });
  await vi.advanceTimersByTimeAsync(windowMs - 1);
  expect(isFlushed).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isFlushed).toBe(true);
  expect(clock.waitForFlush()).not.toBe(flush);
});

test("with fewer than ten generations the flush window takes one iteration of the event loop", async () => {
  await createClock(9).waitForFlush();
  expect(vi.getTimerCount()).toBe(0);
});

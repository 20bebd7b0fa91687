import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLogger } from "../process/logger.ts";
import { createCachedMeasurement } from "./measurement.ts";

const log = createLogger("test", "silent");

test("with cacheMs 0, concurrent readers share one measurement, and the next reader measures again", async () => {
  let measurements = 0;
  const read = createCachedMeasurement(async () => ++measurements, { name: "test", cacheMs: 0, now: () => 0 }, log);
  expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1]);
  expect(await read()).toBe(2);
});

test("a result is reused for cacheMs", async () => {
  let now = 0;
  let measurements = 0;
  const read = createCachedMeasurement(
    async () => ++measurements,
    { name: "test", cacheMs: 10_000, now: () => now },
    log,
  );
  await read();
  now = 9_999;
  expect(await read()).toBe(1);
  now = 10_000;
  expect(await read()).toBe(2);
});

test("the result of a slow measurement is reused for 20 times the measurement's duration", async () => {
  let now = 0;
  let measurements = 0;
  const measure = async () => {
    now += 2_000;
    return ++measurements;
  };
  const read = createCachedMeasurement(measure, { name: "test", cacheMs: 1_000, now: () => now }, log);
  await read();
  now += 39_999;
  expect(await read()).toBe(1);
  now += 1;
  expect(await read()).toBe(2);
});

test("an expired result is reused for up to 30 s while a slow measurement runs", async () => {
  let now = 0;
  let next = Promise.resolve(1);
  const read = createCachedMeasurement(() => next, { name: "test", cacheMs: 5_000, now: () => now }, log);
  expect(await read()).toBe(1);
  const { promise, resolve } = Promise.withResolvers<number>();
  next = promise;
  now = 34_999;
  expect(await read()).toBe(1);
  now = 35_000;
  expect(await read()).toBeUndefined();
  resolve(2);
  expect(await read()).toBe(2);
});

test("the result is undefined if the measurement fails, and until a slow first measurement ends", async () => {
  const failing = createCachedMeasurement(
    () => Promise.reject(new Error("unavailable")),
    { name: "test", cacheMs: 0 },
    log,
  );
  expect(await failing()).toBeUndefined();

  const { promise, resolve } = Promise.withResolvers<number>();
  const slow = createCachedMeasurement(() => promise, { name: "test", cacheMs: 60_000 }, log);
  const timeout = sleep(20_000, "timeout" as const, { ref: false });
  expect(await Promise.race([slow(), timeout])).toBeUndefined();
  resolve(7);
  expect(await slow()).toBe(7);
});

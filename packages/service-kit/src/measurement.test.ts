import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLogger } from "./logger.ts";
import { createMeasurement } from "./measurement.ts";

const log = createLogger("test", "silent");

test("gauges that are scraped at once share one measurement, and the next scrape asks again", async () => {
  let measured = 0;
  const read = createMeasurement(async () => ++measured, { name: "it", everyMs: 0, now: () => 0 }, log);
  expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1]);
  expect(await read()).toBe(2);
});

test("a result serves for its time", async () => {
  let at = 0;
  let measured = 0;
  const read = createMeasurement(async () => ++measured, { name: "it", everyMs: 10_000, now: () => at }, log);
  await read();
  at = 9_999;
  expect(await read()).toBe(1);
  at = 10_000;
  expect(await read()).toBe(2);
});

test("what takes long is measured more rarely", async () => {
  let at = 0;
  let measured = 0;
  const measure = async () => {
    at += 2_000;
    return ++measured;
  };
  const read = createMeasurement(measure, { name: "it", everyMs: 1_000, now: () => at }, log);
  await read();
  at += 39_999;
  expect(await read()).toBe(1);
  at += 1;
  expect(await read()).toBe(2);
});

test("a database that fails gives no result, and one that does not answer holds no scrape up", async () => {
  const failing = createMeasurement(() => Promise.reject(new Error("away")), { name: "it", everyMs: 0 }, log);
  expect(await failing()).toBeUndefined();

  const { promise, resolve: answer } = Promise.withResolvers<number>();
  const silent = createMeasurement(() => promise, { name: "it", everyMs: 60_000 }, log);
  const late = sleep(20_000, "held up" as const, { ref: false });
  expect(await Promise.race([silent(), late])).toBeUndefined();
  answer(7);
  expect(await silent()).toBe(7);
});

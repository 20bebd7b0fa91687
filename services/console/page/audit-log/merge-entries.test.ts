import { expect, test } from "vitest";
import { mergeEntries } from "./merge-entries.ts";

const log = (isComplete: boolean, ...times: number[]) => ({
  isComplete,
  entries: times.map((time) => ({ changedAt: new Date(time).toISOString() })),
});
const merged = (...logs: ReturnType<typeof log>[]) => mergeEntries(logs).map(({ changedAt }) => Date.parse(changedAt));

test("complete logs are merged, newest first", () => {
  expect(merged(log(true, 50, 20), log(true, 40, 10))).toEqual([50, 40, 20, 10]);
  expect(merged(log(true, 50, 30, 5), log(true, 40, 10))).toEqual([50, 40, 30, 10, 5]);
});

test("entries older than the oldest loaded entry of an incomplete log are left out", () => {
  expect(merged(log(false, 50, 30), log(true, 40, 10))).toEqual([50, 40, 30]);
  expect(merged(log(false, 50, 30), log(false, 40, 35))).toEqual([50, 40, 35]);
});

test("a complete, empty log hides no entries of another log", () => {
  expect(merged(log(true), log(false, 40, 10))).toEqual([40, 10]);
});

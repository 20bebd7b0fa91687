import { expect, test } from "vitest";
import { forecast, lastDays } from "./forecast.ts";

const NOON = Date.parse("2026-11-21T12:00:00Z");
const quota = (used: number, cap: number) => ({ used, held: 0, cap, resetsAt: "2026-12-01T00:00:00Z" });
/** 10 replies on each of the seven days before today, and 500 today. */
const repliesByDay = new Map(lastDays(8, NOON).map((day, index) => [day, index === 7 ? 500 : 10]));

test("the total is the usage plus the average of the seven days before today for each remaining day", () => {
  expect(forecast(quota(100, 1_000), repliesByDay, NOON)).toEqual({ total: 195, exhaustedAt: undefined });
});

test("returns when the quota will be exhausted, or the current time if it is exhausted already", () => {
  const { exhaustedAt } = forecast(quota(100, 150), repliesByDay, NOON) ?? {};
  expect(exhaustedAt).toEqual(new Date("2026-11-26T12:00:00Z"));
  expect(forecast(quota(200, 150), repliesByDay, NOON)?.exhaustedAt).toEqual(new Date(NOON));
});

test("the average includes days without replies; if none of the seven days has a reply, there is no forecast", () => {
  expect(forecast(quota(0, 1_000), new Map([["2026-11-20", 70]]), NOON)?.total).toBe(95);
  expect(forecast(quota(5, 1_000), new Map([["2026-11-01", 70]]), NOON)).toBeUndefined();
});

test("lastDays ends with today, and may begin in the previous month", () => {
  expect(lastDays(3, Date.parse("2026-12-01T23:59:59Z"))).toEqual(["2026-11-29", "2026-11-30", "2026-12-01"]);
});

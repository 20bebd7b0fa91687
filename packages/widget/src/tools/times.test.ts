import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createTimes } from "./times.ts";

const at = (day: number, hours: number) => new Date(2026, 2, day, hours, 5).getTime();

describe("createTimes", () => {
  beforeEach(() => void vi.useFakeTimers({ now: at(20, 14) }));
  afterEach(() => void vi.useRealTimers());

  it.each([
    ["en", ["en-GB", "fr"], "14:05"],
    ["en", ["fr", "en-US"], "2:05 PM"],
    ["de", ["en-US"], "14:05"],
    ["pt-pt", [], "14:05"],
    ["zh-hant", ["zh-TW"], "下午2:05"],
    ["ar", ["ar-EG"], "٢:٠٥ م"],
  ])("in %s, for the browser's languages %j, formats a time as %s", (lang, browserLanguages, text) => {
    expect(createTimes(lang, browserLanguages).formatTime(at(20, 14)).replace(/\s/g, " ")).toBe(text);
  });

  it.each([
    ["en", "today", "yesterday", "Wednesday, March 18, 2026"],
    ["de", "heute", "gestern", "Mittwoch, 18. März 2026"],
    ["ja", "今日", "昨日", "2026年3月18日水曜日"],
  ])("in %s, calls days %s, %s and %s", (lang, today, yesterday, date) => {
    const { formatDay } = createTimes(lang, []);
    expect([formatDay(at(20, 0)), formatDay(at(20, 23))]).toEqual([today, today]);
    expect([formatDay(at(19, 0)), formatDay(at(19, 23))]).toEqual([yesterday, yesterday]);
    expect(formatDay(at(18, 23))).toBe(date);
  });
});

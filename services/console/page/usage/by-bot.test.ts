import { create } from "@bufbuild/protobuf";
import { BotSchema, BotUsageSchema } from "@parley/rpc/conversation";
import { MonthlyUsageSchema } from "@parley/rpc/quota";
import { expect, test } from "vitest";
import { splitByBot, thresholdsOf, usageRows } from "./by-bot.ts";
import { formatCsv } from "./csv.ts";

const month = (name: string, used: number) => create(MonthlyUsageSchema, { month: name, used, cap: 1_000 });
const usage = (name: string, botSlug: string, messages: number) =>
  create(BotUsageSchema, { month: name, botSlug, messages });
const BOTS = [create(BotSchema, { slug: "a", display: { name: "=HYPERLINK(1)" } }), create(BotSchema, { slug: "b" })];

test("the entries of a month add up to its usage: a last entry without a bot contains the difference", () => {
  const counts = [usage("2026-11", "a", 5), usage("2026-11", "b", 2), usage("2026-10", "b", 9)];
  expect(splitByBot(month("2026-11", 7), counts, BOTS)).toEqual([
    { slug: "a", name: "=HYPERLINK(1)", messages: 5 },
    { slug: "b", name: "b", messages: 2 },
  ]);
  expect(splitByBot(month("2026-10", 6), counts, BOTS)).toMatchObject([{ messages: 9 }, { slug: "", messages: -3 }]);
  expect(splitByBot(month("2026-09", 0), counts, BOTS)).toEqual([]);
});

test("the CSV has a row for each month and bot, and no cell that a spreadsheet would run as a formula", () => {
  const months = [month("2026-11", 6), month("2026-10", 2)];
  const counts = [usage("2026-11", "a", 6), usage("2026-10", "b", 3)];
  expect(formatCsv(usageRows(months, counts, BOTS))).toBe(
    [
      "\uFEFFmonth,bot,bot_name,messages",
      "2026-11,a,'=HYPERLINK(1),6",
      "2026-10,b,b,3",
      `2026-10,,"Corrections, and the last minute's answers",-1`,
      "",
    ].join("\r\n"),
  );
});

test.each([
  ['a "quoted", text', '"a ""quoted"", text"'],
  ["+1", "'+1"],
  ["-1", "'-1"],
  ["@x", "'@x"],
  [" =1", "' =1"],
  ["＝1", "'＝1"],
  ["\tx", "'\tx"],
  ["a\nb", '"a\nb"'],
  ["1-2", "1-2"],
])("the cell %j is written as %j", (cell, written) => {
  expect(formatCsv([[cell]])).toBe(`\uFEFF${written}\r\n`);
});

test("a threshold is reached by the smallest number of messages that is its share of the quota", () => {
  expect(thresholdsOf({ used: 799, cap: 1_000 }, [80, 100])).toEqual([
    { percent: 80, messages: 800, isReached: false },
    { percent: 100, messages: 1_000, isReached: false },
  ]);
  expect(thresholdsOf({ used: 800, cap: 1_000 }, [80, 100]).map(({ isReached }) => isReached)).toEqual([true, false]);
  expect(thresholdsOf({ used: 3, cap: 3 }, [80, 100])).toEqual([
    { percent: 80, messages: 3, isReached: true },
    { percent: 100, messages: 3, isReached: true },
  ]);
  expect(thresholdsOf({ used: 0, cap: 0 }, [80, 100])).toEqual([]);
});

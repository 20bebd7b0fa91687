import { expect, test } from "vitest";
import { isCrawlable, isIncluded } from "./page-url.ts";

test.each([
  ["/gr\u00f6\u00dfen/", "/gr%C3%B6%C3%9Fen/m", true],
  ["/gr%c3%b6%c3%9fen/", "/gr\u00f6\u00dfen/m", true],
  ["/a b", "/a%20b", true],
  ["/*?filter[size]=", "/shoes?filter[size]=40", true],
  ["/%7Eada", "/~ada", true],
  ["/end$", "/end/", false],
])("the pattern %s selects %s: %j", (pattern, path, isSelected) => {
  const url = new URL(path, "https://shop.example").href;
  expect(isIncluded(url, { include: [pattern], exclude: [] })).toBe(isSelected);
  expect(isCrawlable(url, { include: [], exclude: [pattern] })).toBe(!isSelected);
});

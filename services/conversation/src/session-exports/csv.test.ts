import { expect, test } from "vitest";
import { formatRow } from "./csv.ts";

test("formatRow quotes cells that contain separators, quotes or line breaks, as RFC 4180 requires", () => {
  expect(formatRow(["plain", "", 7, 'say "hi"', "a,b", "a\r\nb", "ü👋"])).toBe(
    'plain,,7,"say ""hi""","a,b","a\r\nb",ü👋\r\n',
  );
});

test.each([
  "=1+1",
  "+1",
  "-1",
  "@SUM(A1)",
  "\t=1",
  "\r=1",
  "\n=1",
  " =1",
  "\u00a0=1",
  "\u200b=1",
  "\ufeff=1",
  '"=1',
  "'=1",
  "＝1",
  "＋1",
  "－1",
  "＠x",
  "|cmd",
  "%0A",
  "\tx",
  "\rx",
  "\nx",
  '=HYPERLINK("https://evil.example","click")',
])("formatRow puts an apostrophe before %j", (text) => {
  const cell = formatRow([text]).slice(0, -2);
  const value = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
  expect(value).toBe(`'${text}`);
});

test.each(["a=1", "1-1", "x@y.example", "a\n=1", "(=1)", "[]", '{"a":1}'])("formatRow does not change %j", (text) => {
  const cell = formatRow([text]).slice(0, -2);
  expect(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell).toBe(text);
});

import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { indentedLines, printable, printableJson, printableLines } from "./printable.ts";
import { type Result, writeResult } from "./result.ts";

describe("printable", () => {
  it.each([
    ["an escape sequence", "\u001b[31mred\u001b[0m", "\\u{1b}[31mred\\u{1b}[0m"],
    ["an eight-bit control", "a\u009b2Jb", "a\\u{9b}2Jb"],
    ["a line break", "a\nb\r\nc\td", "a\\nb\\r\\nc\\td"],
    ["a reordering mark", "abc\u202egnp.exe", "abc\\u{202e}gnp.exe"],
    ["a hidden character", "pay\u200bpal", "pay\\u{200b}pal"],
    ["a line separator", "a\u2028b", "a\\u{2028}b"],
    ["a lone surrogate", "a\ud800b", "a\\u{d800}b"],
  ])("makes %s visible", (_, text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  it("keeps emoji and text in any language", () => {
    const text = "Grüße, 你好, שלום, 👩‍💻 — 100 %";
    expect(printable(text)).toBe(text);
  });
});

describe("printableLines", () => {
  it("writes CRLF as LF, and escapes a lone CR and other control characters", () => {
    expect(printableLines("one\r\ntwo\u0007\rthree")).toBe("one\ntwo\\u{7}\\rthree");
  });
});

const HOSTILE = [
  ...Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).filter((each) => /\p{Cc}/u.test(each)),
  ...[
    "\u061c",
    "\u200e",
    "\u200f",
    "\u202a",
    "\u202b",
    "\u202c",
    "\u202d",
    "\u202e",
    "\u2066",
    "\u2067",
    "\u2068",
    "\u2069",
  ],
  ...["\u00ad", "\u200b", "\u2028", "\u2029", "\u2060", "\ufeff", "\ufff9", "\u{e0041}", "\ud800"],
];

describe("writeResult", () => {
  const createStdout = (isTty: boolean) => Object.assign(new PassThrough(), { isTTY: isTty });
  const output = async (result: Result, { asJson = false, isTty = true }) => {
    const stdout = createStdout(isTty);
    writeResult(result, asJson, stdout);
    return text(stdout.end());
  };

  it.each(HOSTILE)("makes %j printable, in text for a terminal and in JSON for any stdout", async (character) => {
    const value = `a${character}b`;
    const shown = await output({ json: {}, text: `${value}\n` }, {});
    expect(shown.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    for (const isTty of [true, false]) {
      const json = await output({ json: { value }, text: "" }, { asJson: true, isTty });
      expect(json.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(JSON.parse(json)).toEqual({ value });
    }
  });

  it("keeps the CRLF line ends of CSV when stdout is no terminal", async () => {
    expect(await output({ json: {}, text: "a,b\r\n" }, { isTty: false })).toBe("a,b\r\n");
  });
});

describe("printableJson", () => {
  it("escapes a character outside the basic plane as two UTF-16 units", () => {
    expect(printableJson('{"a":"\u{e0041}"}')).toBe('{"a":"\\udb40\\udc41"}');
  });
});

describe("indentedLines", () => {
  it("indents every line, after breaking the lines that are wider than the terminal", () => {
    const forged = "ok\n\nassistant  2026-01-01\r\n\u0085user";
    expect(indentedLines(forged, Number.POSITIVE_INFINITY)).toBe("  ok\n  \n  assistant  2026-01-01\n  \\u{85}user\n");
    const broken = indentedLines(`${"x".repeat(20)}assistant  ${"商".repeat(20)}`, 20)
      .split("\n")
      .slice(0, -1);
    expect(broken.every((line) => line.startsWith("  ") && stringWidth(line) < 20)).toBe(true);
    expect(broken.map((line) => line.slice(2)).join("")).toBe(`${"x".repeat(20)}assistant  ${"商".repeat(20)}`);
  });
});

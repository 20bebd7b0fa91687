import { describe, expect, it } from "vitest";
import { printable, printableLines } from "./printable.ts";

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

  it("keeps text in any language and emoji", () => {
    const text = "Grüße, 你好, שלום, 👩‍💻 — 100 %";
    expect(printable(text)).toBe(text);
  });
});

describe("printableLines", () => {
  it("keeps line breaks and escapes other control characters", () => {
    expect(printableLines("one\r\ntwo\u0007\rthree")).toBe("one\ntwo\\u{7}\\rthree");
  });
});

import { describe, expect, test } from "vitest";
import { decodeText, detectCharset, UnknownCharsetError } from "./decode-text.ts";

const page = (meta: string) => Buffer.from(`<!doctype html><head>${meta}</head>`);
const html = (contentType: string) => ({ contentType, isHtml: true });
const plain = (contentType: string) => ({ contentType, isHtml: false });

describe("detectCharset", () => {
  test("takes the charset from the Content-Type, or else from an HTML document's meta element", () => {
    const content = page('<meta charset="iso-8859-2">');
    expect(detectCharset(content, html("text/html; charset=windows-1252"))).toBe("windows-1252");
    expect(detectCharset(content, html("text/html"))).toBe("iso-8859-2");
    expect(detectCharset(content, plain("text/plain"))).toBe("utf-8");
  });

  test("takes the charset from an XML declaration if the Content-Type names none", () => {
    const content = Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a/>');
    expect(detectCharset(content, plain("application/xml"))).toBe("ISO-8859-1");
    expect(detectCharset(content, plain("text/xml; charset=utf-8"))).toBe("utf-8");
    expect(detectCharset(Buffer.from('<?xml version="1.0"?><a encoding="koi8-r"/>'), plain("text/xml"))).toBe("utf-8");
  });

  test.each(["utf-16", "UTF-16LE", "utf-16be", "unicode", "ucs-2"])(
    "detects UTF-8 for a text whose ASCII declaration names %s",
    (charset) => {
      expect(detectCharset(page(`<meta charset="${charset}">`), html("text/html"))).toBe("utf-8");
      const xml = Buffer.from(`<?xml version="1.0" encoding="${charset}"?><a/>`);
      expect(detectCharset(xml, plain("text/xml"))).toBe("utf-8");
    },
  );

  test.each([
    ["utf-16le", [0xff, 0xfe]],
    ["utf-16be", [0xfe, 0xff]],
    ["utf-8", [0xef, 0xbb, 0xbf]],
  ])("prefers the byte order mark of %s to the Content-Type", (charset, bom) => {
    for (const contentType of ["text/plain", "text/plain; charset=windows-1252"])
      expect(detectCharset(Buffer.from([...bom, 0x41, 0x00]), plain(contentType))).toBe(charset);
  });
});

describe("decodeText", () => {
  test.each<[string, string, number[] | Buffer, string]>([
    ["UTF-8 without a charset", "application/json", Buffer.from('{"city":"Köln"}'), '{"city":"Köln"}'],
    ["UTF-8 with a byte order mark", "application/json", Buffer.from("\uFEFF{}"), "{}"],
    ["ISO 8859-1", "text/plain; charset=ISO-8859-1", Buffer.from("Köln", "latin1"), "Köln"],
    ["windows-1252", 'text/plain; charset="windows-1252"', [0x80, 0x20, 0x93, 0x61, 0x94], "€ “a”"],
    ["windows-1251", "text/html;Charset=windows-1251", [0xcf, 0xf0, 0xe8], "При"],
    ["KOI8-R", "text/plain; charset=koi8-r", [0xf0, 0xd2, 0xc9], "При"],
    ["Shift_JIS", "text/plain; charset=Shift_JIS", [0x93, 0xfa, 0x96, 0x7b], "日本"],
    ["EUC-KR", "text/plain; charset=euc-kr", [0xc7, 0xd1], "한"],
    ["GB18030", "text/plain; charset=gb2312", [0xd6, 0xd0], "中"],
    ["UTF-16 with a byte order mark", "text/plain", Buffer.from("\uFEFFKöln", "utf16le"), "Köln"],
    ["UTF-16 by its charset", "text/plain; charset=utf-16", Buffer.from("Köln", "utf16le"), "Köln"],
    ["big-endian UTF-16", "text/plain", Buffer.from("\uFEFFKöln", "utf16le").swap16(), "Köln"],
    ["UTF-16 without a byte order mark", "text/plain", Buffer.from("Käse, 4 €", "utf16le"), "Käse, 4 €"],
    ["big-endian UTF-16 without a byte order mark", "text/plain", Buffer.from("Käse", "utf16le").swap16(), "Käse"],
    ["NUL in UTF-8", "text/plain", [0x61, 0, 0x62, 0x63, 0], "a\0bc\0"],
    ["an empty charset", "text/plain; charset=", Buffer.from("Köln"), "Köln"],
    ["invalid bytes", "text/plain; charset=utf-8", [0x61, 0xff, 0x62], "a\uFFFDb"],
    ["a truncated character", "text/plain", [0x61, 0xe2, 0x82], "a\uFFFD"],
    ["nothing", "text/plain; charset=utf-16", [], ""],
  ])("decodes %s", (_, contentType, bytes, text) => {
    expect(decodeText(Buffer.from(bytes as number[]), plain(contentType))).toBe(text);
  });

  test.each(["klingon", "utf-7", "utf-32", "ibm850"])("refuses the unknown charset %s", (charset) => {
    const decode = () => decodeText(Buffer.from("x"), plain(`text/plain; charset=${charset}`));
    expect(decode).toThrow(UnknownCharsetError);
    expect(decode).toThrow(charset);
  });
});

import { describe, expect, test } from "vitest";
import { detectCharset, detectFormat } from "./media-type.ts";

describe("detectFormat", () => {
  test.each([
    ["text/html; charset=utf-8", "/page.md", "html"],
    ["text/plain", "/page.md", "md"],
    ["text/plain", "/page", "txt"],
    ["", "/FILE.PDF", "pdf"],
    ["image/png", "/page.md", undefined],
    ["", "/page", undefined],
    ["", "/page.constructor", undefined],
    ["constructor", "/page", undefined],
    ["text/plain", "/page.constructor", "txt"],
  ])("for the Content-Type %j and the path %s, the format is %s", (contentType, path, format) => {
    expect(detectFormat(contentType, path)).toBe(format);
  });
});

describe("detectCharset", () => {
  const page = (meta: string) => Buffer.from(`<!doctype html><head>${meta}</head>`);
  const withBom = (bom: number[]) => Buffer.from([...bom, 0x41, 0x00]);

  test("takes the charset from the Content-Type, or else from an HTML document's meta element", () => {
    const content = page('<meta charset="iso-8859-2">');
    expect(detectCharset("text/html; charset=windows-1252", "html", content)).toBe("windows-1252");
    expect(detectCharset("text/html", "html", content)).toBe("iso-8859-2");
    expect(detectCharset("text/plain", "txt", content)).toBe("utf-8");
  });

  test.each(["utf-16", "UTF-16LE", "utf-16be", "unicode", "ucs-2"])(
    "detects UTF-8 for a page whose ASCII meta element declares %s",
    (charset) => {
      expect(detectCharset("text/html", "html", page(`<meta charset="${charset}">`))).toBe("utf-8");
    },
  );

  test.each([
    ["utf-16le", [0xff, 0xfe]],
    ["utf-16be", [0xfe, 0xff]],
    ["utf-8", [0xef, 0xbb, 0xbf]],
  ])("prefers the byte order mark of %s to the Content-Type", (charset, bom) => {
    for (const contentType of ["text/plain", "text/plain; charset=windows-1252"])
      expect(detectCharset(contentType, "txt", withBom(bom))).toBe(charset);
  });
});

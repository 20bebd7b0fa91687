import { describe, expect, test } from "vitest";
import { detectFormat } from "./media-type.ts";

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

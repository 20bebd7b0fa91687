import { expect, test } from "vitest";
import { detectFormat } from "./media-type.ts";

test.each([
  ["text/html; charset=utf-8", "/a.pdf", "html"],
  ["text/plain", "/a.md", "md"],
  ["application/octet-stream", "/a.PDF", "pdf"],
  ["", "/a", undefined],
  ["constructor", "/a", undefined],
  ["text/plain", "/a.constructor", "txt"],
])("detectFormat detects the content type %j of the path %s as %s", (contentType, path, format) => {
  expect(detectFormat(contentType, path)).toBe(format);
});

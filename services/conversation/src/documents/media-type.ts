import { charsetByMark, ServiceError } from "@parley/service-kit";
import type { Format } from "./document.ts";

const FORMAT_BY_TYPE: ReadonlyMap<string, Format> = new Map([
  ["text/html", "html"],
  ["application/xhtml+xml", "html"],
  ["text/markdown", "md"],
  ["text/x-markdown", "md"],
  ["text/plain", "txt"],
  ["application/pdf", "pdf"],
]);

const FORMAT_BY_EXTENSION: ReadonlyMap<string, Format> = new Map([
  ["txt", "txt"],
  ["text", "txt"],
  ["md", "md"],
  ["markdown", "md"],
  ["html", "html"],
  ["htm", "html"],
  ["pdf", "pdf"],
]);

/** The labels of UTF-16 in the Encoding Standard. */
const UTF_16 = /^(utf-16(le|be)?|unicode(feff|fffe)?|ucs-2|iso-10646-ucs-2|csunicode)$/i;

/** Types that servers send for any file. */
const GENERIC_TYPES = new Set(["", "application/octet-stream", "binary/octet-stream", "text/plain"]);

/** Returns a response's format by its Content-Type, or by the path's extension if the type is generic. Undefined if unsupported. */
export function detectFormat(contentType: string, path: string): Format | undefined {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  const byExtension = FORMAT_BY_EXTENSION.get(/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? "");
  return (GENERIC_TYPES.has(type) ? byExtension : undefined) ?? FORMAT_BY_TYPE.get(type);
}

/**
 * Returns the charset of a text, in the order of the HTML standard: by its byte order mark, by the Content-Type, by an HTML document's meta
 * element, or else UTF-8.
 */
export function detectCharset(contentType: string, format: Format, content: Uint8Array): string {
  const named = /charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType)?.[1];
  return charsetByMark(content) ?? named ?? (format === "html" ? charsetByMeta(content) : undefined) ?? "utf-8";
}

/**
 * Converts a text to UTF-8. If `fatal` is set, throws a TypeError if the content is not valid in its charset; otherwise replaces what is not
 * valid. Throws invalid_argument if the charset is unknown.
 */
export function toUtf8(content: Uint8Array, charset: string, options: { fatal?: boolean } = {}): Uint8Array {
  return new TextEncoder().encode(createDecoder(charset, options).decode(content));
}

function createDecoder(charset: string, options: { fatal?: boolean }) {
  try {
    return new TextDecoder(charset, options);
  } catch (cause) {
    const message = `the text has an unknown charset, ${charset.slice(0, 40)}`;
    throw new ServiceError("invalid_argument", "unsupported_document", message, { cause });
  }
}

function charsetByMeta(content: Uint8Array): string | undefined {
  const head = new TextDecoder("latin1").decode(content.subarray(0, 1_024));
  const charset = /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1];
  // A document whose meta element can be read as ASCII is not UTF-16. The standard reads it as UTF-8.
  return charset !== undefined && UTF_16.test(charset) ? "utf-8" : charset;
}

import { formatOfMediaType, formatOfName } from "@parley/rpc/documents";
import { decodeText, invalidArgument, UnknownCharsetError } from "@parley/service-kit";
import type { Format } from "./document.ts";

/** Types that servers send for any file. */
const GENERIC_TYPES = new Set(["", "application/octet-stream", "binary/octet-stream", "text/plain"]);

/** Returns a response's format by its Content-Type, or by the path's extension if the type is generic. Undefined if unsupported. */
export function detectFormat(contentType: string, path: string): Format | undefined {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  return (GENERIC_TYPES.has(type) ? formatOfName(path) : undefined) ?? formatOfMediaType(type);
}

/**
 * Converts a document's text to UTF-8 by its charset. If `fatal` is set, throws a TypeError if the content is not valid in its charset; otherwise
 * replaces what is not valid. Throws invalid_argument if the charset is unknown. `contentType` is empty for a document without a response.
 */
export function toUtf8(
  content: Uint8Array,
  { contentType, format }: { contentType: string; format: Format },
  options: { fatal?: boolean } = {},
): Uint8Array {
  try {
    return new TextEncoder().encode(decodeText(content, { contentType, isHtml: format === "html" }, options));
  } catch (error) {
    if (error instanceof UnknownCharsetError) throw invalidArgument(error.message, "unsupported_document");
    throw error;
  }
}

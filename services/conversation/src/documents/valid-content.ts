import { isUtf8 } from "node:buffer";
import { isTextFormat, maxSizeOf } from "@parley/rpc/documents";
import { invalidArgument } from "@parley/service-kit";
import type { RawDocument } from "./reader-process/read-document.client.ts";

/** Returns the document. Throws invalid_argument if it is too large or not text in UTF-8. */
export function requireValidContent({ format, content }: RawDocument): RawDocument {
  const max = maxSizeOf(format);
  if (content.length > max.bytes) throw invalidArgument(`content must have at most ${max.mebibytes} MiB`);
  if (isTextFormat(format)) {
    if (!isUtf8(content)) throw notText();
    if (content.includes(0)) throw invalidArgument("content must be text, without NUL");
  }
  return { format, content };
}

export function notText(): Error {
  return invalidArgument("content must be text in UTF-8 or UTF-16: save it as UTF-8");
}

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

/** Types that servers send for any file. For these the path's extension decides first. */
const GENERIC_TYPES = new Set(["", "application/octet-stream", "binary/octet-stream", "text/plain"]);

/** Returns a response's format by its Content-Type, or by the path's extension if the type is generic. Undefined if unsupported. */
export function detectFormat(contentType: string, path: string): Format | undefined {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  const byExtension = FORMAT_BY_EXTENSION.get(/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? "");
  return (GENERIC_TYPES.has(type) ? byExtension : undefined) ?? FORMAT_BY_TYPE.get(type);
}

/** Returns the charset named by the Content-Type, or else by an HTML document's meta element; otherwise UTF-8. */
export function detectCharset(contentType: string, format: Format, content: Uint8Array): string {
  const named = /charset\s*=\s*["']?([\w.:-]+)/i;
  const head = format === "html" ? new TextDecoder("latin1").decode(content.subarray(0, 1_024)) : "";
  const inHead = /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(head);
  return (named.exec(contentType) ?? inHead)?.[1] ?? "utf-8";
}

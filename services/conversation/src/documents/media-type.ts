import type { Format } from "./document.ts";

const FORMAT_OF_TYPE: Readonly<Record<string, Format>> = {
  "text/html": "html",
  "application/xhtml+xml": "html",
  "text/markdown": "md",
  "text/x-markdown": "md",
  "text/plain": "txt",
  "application/pdf": "pdf",
};

const FORMAT_OF_ENDING: Readonly<Record<string, Format>> = {
  txt: "txt",
  text: "txt",
  md: "md",
  markdown: "md",
  html: "html",
  htm: "html",
  pdf: "pdf",
};

/** Types that say no more than that something came. */
const UNTOLD = new Set(["", "application/octet-stream", "binary/octet-stream", "text/plain"]);

/** The format of what a URL answered with, by its Content-Type, and by the path's ending where that tells nothing; undefined for any other. */
export function formatOf(contentType: string, path: string): Format | undefined {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  const byEnding = FORMAT_OF_ENDING[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ""];
  return (UNTOLD.has(type) ? byEnding : undefined) ?? FORMAT_OF_TYPE[type];
}

/** The charset that a Content-Type, or else the beginning of an HTML document, names; UTF-8 when neither does. */
export function charsetOf(contentType: string, format: Format, content: Uint8Array): string {
  const named = /charset\s*=\s*["']?([\w.:-]+)/i;
  const head = format === "html" ? new TextDecoder("latin1").decode(content.subarray(0, 1_024)) : "";
  const inHead = /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(head);
  return (named.exec(contentType) ?? inHead)?.[1] ?? "utf-8";
}

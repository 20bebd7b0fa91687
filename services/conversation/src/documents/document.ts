import type { DocumentFormat } from "@parley/rpc/documents";
import { marked } from "marked";
import type { Block } from "./blocks/block.ts";
import { splitDelimitedText } from "./blocks/delimited-text.ts";
import { splitMarkdown } from "./blocks/markdown-sections.ts";
import { splitHtml } from "./pages/html-blocks.ts";

export type Format = DocumentFormat;
/** Formats that splitDocument reads. */
export type TextFormat = Exclude<Format, "docx" | "xlsx" | "pdf">;

/** Splits a document into blocks of readable text without markup. */
export function splitDocument(format: TextFormat, text: string): Block[] {
  switch (format) {
    case "txt":
      return splitText(text);
    case "md":
      // Markdown may contain HTML, so it is rendered to HTML first.
      return splitHtml(renderMarkdown(text));
    case "html":
      return splitHtml([text]);
    case "csv":
    case "tsv":
      return splitDelimitedText(format, text);
  }
}

function* renderMarkdown(markdown: string): Generator<string> {
  for (const section of splitMarkdown(removeFrontMatter(markdown)))
    yield marked.parse(section, { async: false, gfm: true });
}

/**
 * Splits text at blank lines into paragraphs. Joins the lines of a paragraph, except before a list item. The look-behind prevents backtracking
 * on a long run of spaces.
 */
function splitText(text: string): Block[] {
  return text
    .replaceAll("\r\n", "\n")
    .split(/\n[ \t]*\n/)
    .map((paragraph) => paragraph.trim().replace(/(?<!\s)\s*\n(?!\s*([-*•]|\d+[.)])\s)\s*/g, " "))
    .filter((paragraph) => paragraph !== "")
    .map((paragraph) => ({ headings: [], text: paragraph }));
}

/**
 * Removes the front matter: a line `---` at the beginning and everything up to the next line `---`. If a blank line is in between, the first
 * `---` is a thematic break, and nothing is removed.
 */
function removeFrontMatter(text: string): string {
  return text.replace(/^---\r?\n(?:[^\r\n]+\r?\n)*?---\r?\n/, "");
}

/** The error code if a document cannot be parsed or exceeds a limit of time, memory or size. */
export const UNREADABLE_DOCUMENT = "unreadable_document";

import { marked } from "marked";
import type { Block } from "./block.ts";
import { htmlBlocks } from "./html-blocks.ts";
import { markdownSections } from "./markdown-sections.ts";

/** Formats that documentBlocks reads. */
export type TextFormat = "txt" | "md" | "html";
export type Format = TextFormat | "pdf";

export const FORMATS: readonly Format[] = ["txt", "md", "html", "pdf"];

/** Splits a document into blocks of readable text without markup. */
export function documentBlocks(format: TextFormat, text: string): Block[] {
  switch (format) {
    case "txt":
      return textBlocks(text);
    case "md":
      // Markdown may contain HTML, so it is rendered first.
      return htmlBlocks(markdownHtml(text));
    case "html":
      return htmlBlocks([text]);
  }
}

function* markdownHtml(markdown: string): Generator<string> {
  for (const section of markdownSections(withoutFrontMatter(markdown)))
    yield marked.parse(section, { async: false, gfm: true });
}

/** Splits text at blank lines into paragraphs. Joins the lines of a paragraph, except before a list item. */
function textBlocks(text: string): Block[] {
  return text
    .replaceAll("\r\n", "\n")
    .split(/\n[ \t]*\n/)
    .map((paragraph) => paragraph.trim().replace(/\s*\n(?!\s*([-*•]|\d+[.)])\s)\s*/g, " "))
    .filter((paragraph) => paragraph !== "")
    .map((paragraph) => ({ headings: [], text: paragraph }));
}

function withoutFrontMatter(text: string): string {
  return text.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, "");
}

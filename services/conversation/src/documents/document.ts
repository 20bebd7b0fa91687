import { marked } from "marked";
import type { Block } from "./block.ts";
import { htmlBlocks } from "./html-blocks.ts";
import { markdownSections } from "./markdown-sections.ts";

/** What is text; a PDF is read by its own reader. */
export type TextFormat = "txt" | "md" | "html";
export type Format = TextFormat | "pdf";

export const FORMATS: readonly Format[] = ["txt", "md", "html", "pdf"];

/** The readable text of a document, block by block, without markup. */
export function documentBlocks(format: TextFormat, text: string): Block[] {
  switch (format) {
    case "txt":
      return textBlocks(text);
    case "md":
      // Markdown may hold HTML, so it is read as what it stands for.
      return htmlBlocks(markdownHtml(text));
    case "html":
      return htmlBlocks([text]);
  }
}

function* markdownHtml(markdown: string): Generator<string> {
  for (const section of markdownSections(withoutFrontMatter(markdown)))
    yield marked.parse(section, { async: false, gfm: true });
}

/** Paragraphs end at blank lines; a line break inside one is kept only before an item of a list. */
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

import type { Block } from "../blocks/block.ts";
import type { PdfLine } from "./pdf-lines.ts";

/** A short paragraph is a heading if its font size is at least the body font size times this factor. */
const HEADING_RATIO = 1.15;
const MAX_HEADING_CHARACTERS = 150;
/** Largest distance between the baselines of two adjacent lines of a paragraph, relative to the font size. */
const MAX_LINE_GAP = 1.7;
/** Adjacent lines of a paragraph differ less than this in font size, in the page's units. */
const MAX_SIZE_DIFFERENCE = 0.6;
/** How many lines at the beginning and end of a page can be its header and footer. */
const MAX_FURNITURE_LINES = 2;
const MIN_FURNITURE_SHARE = 0.6;
const FURNITURE_HEIGHT_TOLERANCE = 4;

/** Splits a PDF's pages into paragraphs. A paragraph before the first heading gets its page number as heading (`p. 3`). */
export function splitPdf(pages: readonly (readonly PdfLine[])[]): Block[] {
  const bodySize = findBodyFontSize(pages);
  const contents = withoutFurniture(pages, bodySize);
  const blocks: Block[] = [];
  let heading = "";
  for (const [index, page] of contents.entries()) {
    for (const paragraph of groupParagraphs(page)) {
      const text = joinLines(paragraph);
      const [{ size = 0, isRow = false } = {}] = paragraph;
      const isHeading = !isRow && size >= bodySize * HEADING_RATIO && text.length <= MAX_HEADING_CHARACTERS;
      if (isHeading) heading = text;
      else blocks.push({ headings: [heading || `p. ${index + 1}`], text });
    }
  }
  return blocks;
}

/**
 * Removes the headers, footers and page numbers: lines at the beginning or end of most pages, at the same height and with the same text except its
 * numbers. A larger text, such as a chapter's title, may differ in its number.
 */
function withoutFurniture(pages: readonly (readonly PdfLine[])[], bodySize: number): PdfLine[][] {
  const pagesByKey = new Map<string, number>();
  const keysOf = (page: readonly PdfLine[]) => {
    const byHeight = page.toSorted((one, other) => other.y - one.y);
    const outer = new Set([...byHeight.slice(0, MAX_FURNITURE_LINES), ...byHeight.slice(-MAX_FURNITURE_LINES)]);
    return new Map([...outer].map((line) => [line, toFurnitureKey(line, bodySize)]));
  };
  const keys = pages.map(keysOf);
  for (const key of keys.flatMap((each) => [...new Set(each.values())]))
    pagesByKey.set(key, (pagesByKey.get(key) ?? 0) + 1);
  const minPages = Math.max(2, MIN_FURNITURE_SHARE * pages.filter((page) => page.length > 0).length);
  return pages.map((page, index) =>
    page.filter((line) => (pagesByKey.get(keys[index]?.get(line) ?? "") ?? 0) < minPages),
  );
}

function toFurnitureKey({ text, size, y }: PdfLine, bodySize: number): string {
  const same = size < bodySize * HEADING_RATIO ? text.replace(/\d+/g, "0") : text;
  return `${Math.round(y / FURNITURE_HEIGHT_TOLERANCE)} ${same}`;
}

/** Returns the font size with the most characters, rounded to half a unit. */
function findBodyFontSize(pages: readonly (readonly PdfLine[])[]): number {
  const charactersBySize = new Map<number, number>();
  for (const page of pages)
    for (const { size, text } of page) {
      const rounded = Math.round(size * 2) / 2;
      charactersBySize.set(rounded, (charactersBySize.get(rounded) ?? 0) + text.length);
    }
  return [...charactersBySize].reduce((one, other) => (other[1] > one[1] ? other : one), [0, 0] as const)[0];
}

function groupParagraphs(lines: readonly PdfLine[]): PdfLine[][] {
  const paragraphs: PdfLine[][] = [];
  let last: PdfLine | undefined;
  for (const line of lines) {
    const gap = last === undefined ? 0 : last.y - line.y;
    const isSameParagraph =
      last !== undefined &&
      !last.isRow &&
      !line.isRow &&
      Math.abs(last.size - line.size) < MAX_SIZE_DIFFERENCE &&
      gap > 0 &&
      gap <= MAX_LINE_GAP * Math.max(line.size, 1);
    if (isSameParagraph) paragraphs.at(-1)?.push(line);
    else paragraphs.push([line]);
    last = line;
  }
  return paragraphs;
}

/** Joins lines with spaces and removes the hyphen from a word that is divided between two lines. */
function joinLines(lines: readonly PdfLine[]): string {
  return lines
    .map(({ text }) => text)
    .join("\n")
    .replace(/(\p{Ll})-\n(?=\p{Ll})/gu, "$1")
    .replaceAll("\n", " ");
}

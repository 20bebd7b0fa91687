import type { Block } from "./block.ts";

/** A run of text at one position of a page. */
export type PdfRun = {
  text: string;
  /** The font size, in the page's units. */
  size: number;
  /** The baseline's height above the bottom of the page, in the page's units. */
  y: number;
  endsLine: boolean;
};

/** A line of text. `size` is the largest font size of its runs, and `y` the baseline of its last run. Runs of spaces do not count. */
export type PdfLine = { text: string; size: number; y: number };

/** A short paragraph is a heading if its font size is at least the body font size times this factor. */
const HEADING_RATIO = 1.15;
const MAX_HEADING_CHARACTERS = 150;
/** Largest distance between the baselines of two adjacent lines of a paragraph, relative to the font size. */
const MAX_LINE_GAP = 1.7;
/** Adjacent lines of a paragraph differ less than this in font size, in the page's units. */
const MAX_SIZE_DIFFERENCE = 0.6;

/** Splits a PDF's pages into paragraphs. A paragraph before the first heading gets its page number as heading (`p. 3`). */
export function splitPdf(pages: readonly (readonly PdfLine[])[]): Block[] {
  const bodySize = findBodyFontSize(pages);
  const blocks: Block[] = [];
  let heading = "";
  for (const [index, page] of pages.entries()) {
    for (const paragraph of groupParagraphs(page)) {
      const text = joinLines(paragraph);
      const isHeading = (paragraph[0]?.size ?? 0) >= bodySize * HEADING_RATIO && text.length <= MAX_HEADING_CHARACTERS;
      if (isHeading) heading = text;
      else blocks.push({ headings: [heading || `p. ${index + 1}`], text });
    }
  }
  return blocks;
}

export function combineRuns(runs: readonly PdfRun[]): PdfLine[] {
  const lines: PdfLine[] = [];
  let line: PdfLine | undefined;
  for (const { text, size, y, endsLine } of runs) {
    line ??= { text: "", size: 0, y };
    line.text += text;
    if (text.trim() !== "") line = { ...line, size: Math.max(line.size, size), y };
    if (!endsLine) continue;
    lines.push(line);
    line = undefined;
  }
  if (line) lines.push(line);
  return lines
    .map((each) => ({ ...each, text: each.text.replace(/\s+/g, " ").trim() }))
    .filter((each) => each.text !== "");
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

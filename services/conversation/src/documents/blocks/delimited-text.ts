import papaparse from "papaparse";
import { SheetRows } from "../office/sheet-rows.ts";
import { type Block, toOneLine } from "./block.ts";

/** A first line by which Excel writes the delimiter. */
const DELIMITER_LINE = /^sep=(.)\n/i;
const DELIMITERS = [",", ";", "\t", "|"];
/** By so many lines, and no more characters, the delimiter is detected. */
const MAX_SAMPLE_LINES = 100;
const MAX_SAMPLE_CHARACTERS = 64 * 1024;

/** Splits CSV or TSV into a block for each row. The delimiter of CSV is detected: a comma, semicolon, tab or vertical bar. */
export function splitDelimitedText(format: "csv" | "tsv", text: string): Block[] {
  const blocks: Block[] = [];
  const rows = new SheetRows((sentence) => blocks.push({ headings: [], text: sentence }));
  const lines = text.replace(/\r\n?/g, "\n");
  const [line = "", delimiter] = DELIMITER_LINE.exec(lines) ?? [];
  const content = lines.slice(line.length);
  papaparse.parse<string[]>(content, {
    delimiter: format === "tsv" ? "\t" : (delimiter ?? detectDelimiter(content)),
    newline: "\n",
    step: ({ data }) => rows.add(data.map((cell) => ({ text: toOneLine(cell) }))),
  });
  rows.end();
  return blocks;
}

/**
 * Returns the delimiter that divides the most lines into the same number of cells. If several do, returns the one that is least often part of the
 * text: before a space, or as the comma of a decimal number. The parser's own detection counts blank lines and reads only ten lines.
 */
function detectDelimiter(text: string): string {
  const sample = text.slice(0, MAX_SAMPLE_CHARACTERS);
  const candidates = DELIMITERS.map((delimiter) => {
    const { data } = papaparse.parse<string[]>(sample, { delimiter, newline: "\n", preview: MAX_SAMPLE_LINES });
    const counts = data.filter((cells) => cells.length > 1).map((cells) => cells.length);
    const lines = Math.max(0, ...counts.map((count) => counts.filter((each) => each === count).length));
    const uses = sample.split(delimiter).length - 1;
    const inText = sample.match(delimiter === "," ? /, |\d,\d/g : new RegExp(`\\${delimiter} `, "g"))?.length ?? 0;
    return { delimiter, lines, inText: uses === 0 ? 1 : inText / uses };
  });
  return candidates.reduce((one, other) =>
    other.lines > one.lines || (other.lines === one.lines && other.inText < one.inText) ? other : one,
  ).delimiter;
}

import stringWidth from "string-width";
import { printable } from "./printable.ts";

export type Cell = string | number;

const GAP = "  ";
const MAX_CELL_WIDTH = 60;

/** Formats rows under upper-case titles. Right-aligns number columns, escapes control characters and truncates long cells. */
export function formatTable(
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
  emptyMessage: string,
): string {
  if (rows.length === 0) return `${emptyMessage}\n`;
  const texts = rows.map((row) => row.map(formatCell));
  const widths = titles.map((title, column) =>
    Math.max(stringWidth(title), ...texts.map((row) => stringWidth(row[column] ?? ""))),
  );
  const isNumeric = titles.map((_, column) => rows.every((row) => typeof row[column] === "number"));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => padCell(cell, widths[column] ?? 0, isNumeric[column] ?? false))
      .join(GAP)
      .trimEnd();
  return [titles.map((title) => title.toUpperCase()), ...texts].map((cells) => `${line(cells)}\n`).join("");
}

/** Formats one labelled value per line, with the values aligned. */
export function formatFields(values: readonly (readonly [label: string, value: Cell])[]): string {
  const width = Math.max(...values.map(([label]) => stringWidth(label)));
  return values
    .map(([label, value]) => `${`${padCell(label, width, false)}${GAP}${formatValue(value)}`.trimEnd()}\n`)
    .join("");
}

/** Formats an amount with its noun, such as `1 turn` or `1,234 turns`. An amount of null is unknown. */
export function formatCount(amount: number | null, singular: string, plural = `${singular}s`): string {
  return `${formatValue(amount ?? "–")} ${amount === 1 ? singular : plural}`;
}

function formatValue(value: Cell): string {
  return typeof value === "number" ? value.toLocaleString("en-US") : printable(value);
}

function formatCell(value: Cell): string {
  const fullText = formatValue(value);
  if (stringWidth(fullText) <= MAX_CELL_WIDTH) return fullText;
  let truncated = "";
  let width = 0;
  for (const { segment } of new Intl.Segmenter().segment(fullText)) {
    width += stringWidth(segment);
    if (width >= MAX_CELL_WIDTH) break;
    truncated += segment;
  }
  return `${truncated}…`;
}

function padCell(cell: string, width: number, isNumeric: boolean): string {
  const blanks = " ".repeat(Math.max(0, width - stringWidth(cell)));
  return isNumeric ? blanks + cell : cell + blanks;
}

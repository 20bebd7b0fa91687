import stringWidth from "string-width";
import { printable } from "./printable.ts";

export type Cell = string | number;

const GAP = "  ";
const MAX_CELL_WIDTH = 60;

/** Rows under titles, numbers to the right; stored text is made safe and long text is cut with an ellipsis. */
export function table(titles: readonly string[], rows: readonly (readonly Cell[])[], whenEmpty: string): string {
  if (rows.length === 0) return `${whenEmpty}\n`;
  const texts = rows.map((row) => row.map(cellText));
  const widths = titles.map((title, column) =>
    Math.max(stringWidth(title), ...texts.map((row) => stringWidth(row[column] ?? ""))),
  );
  const isNumeric = titles.map((_, column) => rows.every((row) => typeof row[column] === "number"));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => pad(cell, widths[column] ?? 0, isNumeric[column] ?? false))
      .join(GAP)
      .trimEnd();
  return [titles.map((title) => title.toUpperCase()), ...texts].map((cells) => `${line(cells)}\n`).join("");
}

/** One labelled value a line. */
export function fields(values: readonly (readonly [label: string, value: Cell])[]): string {
  const width = Math.max(...values.map(([label]) => stringWidth(label)));
  return values.map(([label, value]) => `${`${pad(label, width, false)}${GAP}${text(value)}`.trimEnd()}\n`).join("");
}

function text(value: Cell): string {
  return typeof value === "number" ? value.toLocaleString("en-US") : printable(value);
}

function cellText(value: Cell): string {
  const whole = text(value);
  if (stringWidth(whole) <= MAX_CELL_WIDTH) return whole;
  let cut = "";
  let width = 0;
  for (const { segment } of new Intl.Segmenter().segment(whole)) {
    width += stringWidth(segment);
    if (width >= MAX_CELL_WIDTH) break;
    cut += segment;
  }
  return `${cut}…`;
}

function pad(cell: string, width: number, isNumeric: boolean): string {
  const blanks = " ".repeat(Math.max(0, width - stringWidth(cell)));
  return isNumeric ? blanks + cell : cell + blanks;
}

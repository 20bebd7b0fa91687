/**
 * Matches a text that a spreadsheet could run as a formula (CSV injection): white space, quotes or invisible characters, if any, then one of
 * `= + - @ | %`, or one of `= + - @` in full width. Also matches a leading tab or line break, which could end the cell.
 */
const FORMULA = /^(?:[\s\p{Cc}\p{Cf}"'`]*[=+\-@|%＝＋－＠]|[\t\r\n])/u;
const NEEDS_QUOTES = /[",\r\n]/;

/** Formats a row of CSV (RFC 4180). Puts an apostrophe before a text that could be a formula, so that every spreadsheet treats it as text. */
export function formatRow(cells: readonly (string | number)[]): string {
  return `${cells.map(formatCell).join(",")}\r\n`;
}

function formatCell(cell: string | number): string {
  if (typeof cell === "number") return String(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

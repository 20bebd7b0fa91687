/** Matches a text that a spreadsheet could run as a formula. The export of conversations uses the same pattern. */
const FORMULA = /^(?:[\s\p{Cc}\p{Cf}"'`]*[=+\-@|%＝＋－＠]|[\t\r\n])/u;
const BYTE_ORDER_MARK = "\uFEFF";
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * Formats CSV (RFC 4180) with a byte order mark, without which Excel does not read the file as UTF-8. Puts an apostrophe before a text that could
 * be a formula.
 */
export function formatCsv(rows: readonly (readonly (string | number)[])[]): string {
  return BYTE_ORDER_MARK + rows.map((cells) => `${cells.map(formatCell).join(",")}\r\n`).join("");
}

function formatCell(cell: string | number): string {
  if (typeof cell === "number") return String(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

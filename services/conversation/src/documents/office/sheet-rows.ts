import { type TableCell, TableRows } from "../blocks/table-rows.ts";

/** Matches a number, price, date or time: a text whose first letter or digit is a digit. */
const VALUE = /^[^\p{L}\p{N}]*\p{N}/u;
const YEAR = /^(19|20)\d\d$/;
const MAX_HEADING_CHARACTERS = 80;
const MAX_QUESTION_CHARACTERS = 30;

type Row = { cells: readonly TableCell[]; isHeading: boolean | undefined };

/**
 * Formats the rows of a spreadsheet as sentences. A spreadsheet does not mark the row of column headings, so it is recognized by its texts. A
 * sheet can have several tables, separated by blank rows.
 */
export class SheetRows {
  readonly #table: TableRows;
  #pending: Row | undefined;
  #hasLabels = false;
  #hasRows = false;
  /** Whether the previous row was blank. */
  #isAfterBlank = false;
  /** Whether the previous row was a row of headings that span columns, so that another row of headings can follow. */
  #isAfterWideHeadings = false;

  constructor(add: (sentence: string) => void) {
    this.#table = new TableRows(add);
  }

  /** Adds a row. `isHeading` is undefined if the file does not mark its headings. */
  add(cells: readonly TableCell[], isHeading?: boolean): void {
    if (this.#pending !== undefined) this.#addRow(this.#pending, cells);
    this.#pending = { cells, isHeading };
  }

  end(): void {
    if (this.#pending !== undefined) this.#addRow(this.#pending, []);
    this.#table.end();
  }

  #addRow({ cells, isHeading: isMarked }: Row, next: readonly TableCell[]): void {
    const count = countFilled(cells);
    const isHeading = isMarked ?? (count > 1 && this.#isHeading(cells, next));
    this.#table.add(cells, isHeading);
    this.#isAfterWideHeadings = isHeading && cells.some(({ columns = 1 }) => columns > 1);
    this.#hasLabels ||= isHeading;
    this.#hasRows ||= count > 1;
    this.#isAfterBlank = count === 0;
  }

  #isHeading(cells: readonly TableCell[], next: readonly TableCell[]): boolean {
    if (!areHeadings(textsOf(cells), textsOf(next))) return false;
    if (!this.#hasRows || this.#isAfterWideHeadings) return true;
    return (!this.#hasLabels || this.#isAfterBlank) && countFilled(next) > 1 && textsOf(next).some(isValue);
  }
}

function textsOf(cells: readonly TableCell[]): string[] {
  return cells.map(({ text }) => text);
}

function countFilled(cells: readonly TableCell[]): number {
  return cells.filter(({ text }) => text !== "").length;
}

function isValue(text: string): boolean {
  return VALUE.test(text);
}

/** Returns whether texts can be the headings of columns, of which `next` has the first values. */
function areHeadings(texts: readonly string[], next: readonly string[]): boolean {
  const filled = texts.filter((text) => text !== "");
  if (filled.some((text) => text.length > MAX_HEADING_CHARACTERS || /[.!。]$/.test(text))) return false;
  if (filled.some((text) => text.length > MAX_QUESTION_CHARACTERS && /[?？]$/.test(text))) return false;
  const values = filled.filter(isValue);
  if (values.length === 0) return true;
  // Years, sizes or dates can be headings: "Model; 36; 37; 38". Then they have the same form, but the values below have others.
  if (isValue(filled[0] ?? "") || new Set(values).size < values.length) return false;
  if (new Set(values.map(formOf)).size > 1) return false;
  if (!values.every((value) => YEAR.test(value)) && values.length < 3) return false;
  const below = texts.flatMap((text, column) => (isValue(text) ? [next[column] ?? ""] : []));
  return below.some((text) => text !== "" && formOf(text) !== formOf(values[0] ?? ""));
}

function formOf(text: string): string {
  return text.replace(/\p{N}/gu, "0");
}

import type { TableCell } from "../blocks/table-rows.ts";

/** Numbered from 1, inclusive. */
export type CellRange = { top: number; left: number; bottom: number; right: number };

type Merged = CellRange & { text: string };

const MAX_COLUMNS = 16_384;

/** Finds the merged cells of a sheet's rows, which are given from top to bottom. */
export class MergedCells {
  /** Sorted by their top row, the last first. */
  readonly #coming: CellRange[];
  #current: Merged[] = [];

  constructor(ranges: readonly CellRange[]) {
    this.#coming = ranges.toSorted((one, other) => other.top - one.top);
  }

  /**
   * Returns a row's cells from the texts by column. Each merged cell has its text in each of its rows, but a row that has no text of its own has no
   * cells. Leaves out hidden columns.
   */
  toCells(
    row: number,
    texts: ReadonlyMap<number, string>,
    hiddenColumns: readonly { min: number; max: number }[],
  ): TableCell[] {
    const current = this.#currentAt(row, texts);
    if (texts.size === 0) return [];
    const isHidden = (column: number) => hiddenColumns.some(({ min, max }) => column >= min && column <= max);
    const byLeft = new Map(current.map((each) => [each.left, each]));
    const last = Math.max(...texts.keys(), ...current.map(({ right }) => right));
    const cells: TableCell[] = [];
    for (let column = 1; column <= last; ) {
      const merged = byLeft.get(column);
      const end = merged?.right ?? column;
      let columns = 0;
      for (let each = column; each <= end; each++) if (!isHidden(each)) columns++;
      if (columns > 0) cells.push({ text: merged?.text ?? texts.get(column) ?? "", columns });
      column = end + 1;
    }
    return cells;
  }

  #currentAt(row: number, texts: ReadonlyMap<number, string>): readonly Merged[] {
    this.#current = this.#current.filter(({ bottom }) => bottom >= row);
    for (let next = this.#coming.at(-1); next !== undefined && next.top <= row; next = this.#coming.at(-1)) {
      this.#coming.pop();
      if (next.bottom >= row) this.#current.push({ ...next, text: texts.get(next.left) ?? "" });
    }
    return this.#current;
  }
}

/** Parses a range, such as `A1:C2`. */
export function parseRange(text: string): CellRange | undefined {
  const [from, to] = text.split(":").map(parseReference);
  if (from === undefined || to === undefined) return undefined;
  return { top: from.row, left: from.column, bottom: to.row, right: Math.max(from.column, to.column) };
}

/** Parses the reference of a cell, such as `AB12`. */
export function parseReference(text: string): { row: number; column: number } | undefined {
  const [, letters = "", row = ""] = /^\$?([A-Z]{1,3})\$?(\d{1,7})$/i.exec(text) ?? [];
  if (letters === "") return undefined;
  let column = 0;
  for (const letter of letters.toUpperCase()) column = column * 26 + letter.charCodeAt(0) - 64;
  return column <= MAX_COLUMNS ? { row: Number(row), column } : undefined;
}

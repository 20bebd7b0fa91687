export type TableCell = {
  text: string;
  /** How many columns and rows the cell spans; 1 by default. */
  columns?: number;
  rows?: number;
  /** Whether the cell is part of the cell above. */
  continuesAbove?: boolean;
};

/** A cell of the grid. A cell that spans several places is the same object in each of them. */
type GridCell = { text: string };

/** A longer text is not repeated for each column that its cell spans. */
const MAX_REPEATED_CHARACTERS = 200;

/**
 * Formats the rows of a table as sentences. Each cell follows the heading of its column, so that a row is understandable without the table:
 * "Product: Rye bread; Price: 4.20." Repeats the text of a cell that spans several columns or rows for each of them.
 */
export class TableRows {
  readonly #add: (sentence: string) => void;
  #labels: readonly string[] = [];
  #areLabelsUsed = true;
  #isAfterHeading = false;
  #lastRow: readonly GridCell[] = [];
  /** By column, the cell of an earlier row that spans the next rows. */
  readonly #spans = new Map<number, { cell: GridCell; rowsLeft: number }>();

  constructor(add: (sentence: string) => void) {
    this.#add = add;
  }

  /** Adds a row. Consecutive rows of headings form the labels of the columns for the rows that follow. */
  add(cells: readonly TableCell[], isHeading: boolean): void {
    const row = this.#expand(cells);
    this.#lastRow = row;
    if (cells.every(({ text }) => text === "")) return;
    const isOneCell = row.every((cell) => cell === row[0]);
    // A heading across the whole table names a part of it, not a column.
    const areLabels = isHeading && !isOneCell;
    const isWide = isOneCell && (isHeading || row.length > 1);
    if (areLabels) this.#addLabels(row);
    else {
      this.#add(toSentence(isWide ? [row[0]?.text ?? ""] : this.#formatCells(row)));
      this.#areLabelsUsed ||= !isWide;
    }
    this.#isAfterHeading = areLabels;
  }

  /** Adds the labels as a row if no row has followed them. */
  end(): void {
    if (!this.#areLabelsUsed) this.#add(toSentence(this.#labels.filter((label) => label !== "")));
    this.#areLabelsUsed = true;
  }

  #addLabels(row: readonly GridCell[]): void {
    const texts = row.map(({ text }) => text);
    if (this.#isAfterHeading)
      this.#labels = Array.from({ length: Math.max(texts.length, this.#labels.length) }, (_, column) =>
        joinDistinct(this.#labels[column] ?? "", texts[column] ?? ""),
      );
    else {
      this.end();
      this.#labels = texts;
    }
    this.#areLabelsUsed = false;
  }

  #formatCells(row: readonly GridCell[]): string[] {
    return row.flatMap((cell, column) => {
      const { text } = cell;
      const label = this.#labels[column] ?? "";
      const isRepeated = column > 0 && row[column - 1] === cell;
      if (text === "" || (isRepeated && (label === "" || text.length > MAX_REPEATED_CHARACTERS))) return [];
      return [label === "" ? text : `${label}: ${text}`];
    });
  }

  /** Returns a cell for each column, also those of earlier rows that span this row. */
  #expand(cells: readonly TableCell[]): GridCell[] {
    const row: GridCell[] = [];
    const addSpans = () => {
      for (let span = this.#spans.get(row.length); span !== undefined; span = this.#spans.get(row.length)) {
        span.rowsLeft--;
        if (span.rowsLeft === 0) this.#spans.delete(row.length);
        row.push(span.cell);
      }
    };
    for (const { text, columns = 1, rows = 1, continuesAbove = false } of cells) {
      addSpans();
      const cell = (continuesAbove && this.#lastRow[row.length]) || { text };
      for (let place = 0; place < columns && !this.#spans.has(row.length); place++) {
        if (rows > 1) this.#spans.set(row.length, { cell, rowsLeft: rows - 1 });
        row.push(cell);
      }
    }
    addSpans();
    for (let last = Math.max(...this.#spans.keys()); row.length <= last; addSpans()) row.push({ text: "" });
    return row;
  }
}

function joinDistinct(one: string, other: string): string {
  return one === other || other === "" ? one : `${one} ${other}`.trim();
}

function toSentence(parts: readonly string[]): string {
  const sentence = parts.join("; ");
  return sentence === "" || /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

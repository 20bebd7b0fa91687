import { type Block, toOneLine } from "../blocks/block.ts";
import type { TableCell } from "../blocks/table-rows.ts";
import type { DocxStyles } from "./docx-styles.ts";
import type { Attributes, XmlHandler } from "./office-package.ts";
import { SheetRows } from "./sheet-rows.ts";

/**
 * Elements whose content is skipped: deleted and moved text, earlier formatting, the copy of a drawing for old programs, and the pronunciation of
 * East Asian text.
 */
const SKIPPED_ELEMENTS = new Set([
  ...["del", "moveFrom", "Fallback", "rt"],
  ...["pPrChange", "rPrChange", "tblPrChange", "trPrChange", "tcPrChange", "sectPrChange"],
]);
/** The elements of a run that are characters. */
const CHARACTERS: ReadonlyMap<string, string> = new Map([
  ["tab", " "],
  ["br", "\n"],
  ["cr", "\n"],
  ["noBreakHyphen", "-"],
]);
/** A table of so many columns may have unmarked headings. In a smaller one, the first column often has the labels. */
const MIN_COLUMNS_WITH_HEADINGS = 3;

type Paragraph = { text: string; style: string; outlineLevel: number | undefined; isJoinedToNext: boolean };
type Cell = TableCell & { text: string; isBold: boolean };
type Table = { rows: SheetRows; rowCount: number; style: string; hasHeadingRow: boolean };

/** Builds blocks from the elements of a document or of its notes. */
export class DocxBlocks implements XmlHandler {
  readonly blocks: Block[] = [];
  /** The texts of notes by their kind and id: `footnote 2`. */
  readonly notes = new Map<string, string>();
  isDocument = false;
  readonly #styles: DocxStyles;
  readonly #referencedNotes: ReadonlyMap<string, string>;
  readonly #path: string[] = [];
  #skippedDepth = 0;
  #headingByLevel: string[] = [];
  /** A text box is a paragraph within a paragraph. */
  readonly #paragraphs: Paragraph[] = [];
  #joinedText = "";
  #run = { isHidden: false, isBold: false };
  #isInText = false;
  /** A table within a table is text of its cell. */
  #tableDepth = 0;
  #table: Table | undefined;
  #row: { cells: Cell[]; isHeading: boolean } = { cells: [], isHeading: false };
  #cell: Cell | undefined;
  #note: { key: string; firstBlock: number } | undefined;

  constructor(styles: DocxStyles, notes: ReadonlyMap<string, string> = new Map()) {
    this.#styles = styles;
    this.#referencedNotes = notes;
  }

  open(name: string, attributes: Attributes): void {
    const parent = this.#path.at(-1) ?? "";
    this.#path.push(name);
    if (this.#skippedDepth > 0) return;
    if (name === "del" && parent === "rPr" && this.#path.at(-3) === "pPr") this.#joinParagraph();
    if (SKIPPED_ELEMENTS.has(name)) this.#skippedDepth = this.#path.length;
    else if (parent.endsWith("Pr")) this.#setProperty(parent, name, attributes);
    else if (parent === "r") this.#addOfRun(name, attributes);
    else this.#openElement(name, attributes);
  }

  text(text: string): void {
    if (this.#isInText && this.#skippedDepth === 0 && !this.#run.isHidden) this.#addText(text);
  }

  close(name: string): void {
    const depth = this.#path.length;
    this.#path.pop();
    if (this.#skippedDepth > 0) {
      if (this.#skippedDepth === depth) this.#skippedDepth = 0;
      return;
    }
    if (name === "t") this.#isInText = false;
    else if (name === "p") this.#endParagraph();
    else if (name === "tbl") this.#endTable();
    else if (name === "footnote" || name === "endnote") this.#endNote();
    else if (this.#tableDepth !== 1) return;
    else if (name === "tr") this.#endRow();
    else if (name === "tc") this.#endCell();
  }

  #openElement(name: string, { id = "" }: Attributes): void {
    if (name === "document") this.isDocument = true;
    else if (name === "t") this.#isInText = true;
    else if (name === "r") this.#run = { isHidden: false, isBold: false };
    else if (name === "p")
      this.#paragraphs.push({ text: "", style: "", outlineLevel: undefined, isJoinedToNext: false });
    else if (name === "tbl") this.#openTable();
    else if (name === "footnote" || name === "endnote")
      this.#note = { key: `${name} ${id}`, firstBlock: this.blocks.length };
    else if (this.#tableDepth !== 1) return;
    else if (name === "tr") this.#row = { cells: [], isHeading: false };
    else if (name === "tc") this.#cell = { text: "", isBold: true };
  }

  #addOfRun(name: string, { id = "" }: Attributes): void {
    if (name === "t") this.#isInText = true;
    if (this.#run.isHidden) return;
    const kind = name === "footnoteReference" ? "footnote" : name === "endnoteReference" ? "endnote" : "";
    const note = this.#referencedNotes.get(`${kind} ${id}`);
    this.#addText(note === undefined ? (CHARACTERS.get(name) ?? "") : ` (${note})`);
  }

  #setProperty(parent: string, name: string, { val = "", firstRow = "" }: Attributes): void {
    const isOn = val !== "0" && val !== "false";
    const paragraph = this.#paragraphs.at(-1);
    if (parent === "rPr" && this.#path.at(-3) === "r") {
      if (name === "vanish") this.#run.isHidden = isOn;
      else if (name === "b") this.#run.isBold = isOn;
    } else if (parent === "pPr" && paragraph) {
      if (name === "pStyle") paragraph.style = val;
      else if (name === "outlineLvl") paragraph.outlineLevel = Number(val);
    } else if (this.#tableDepth !== 1 || !this.#table) return;
    else if (name === "tblStyle") this.#table.style = val;
    // The attribute firstRow is newer than the bits of val.
    else if (name === "tblLook") this.#table.hasHeadingRow = firstRow === "1" || (Number.parseInt(val, 16) & 0x20) > 0;
    else if (name === "tblHeader") this.#row.isHeading = isOn;
    else if (name === "gridSpan" && this.#cell) this.#cell.columns = Math.max(1, Number(val) || 1);
    else if (name === "vMerge" && this.#cell) this.#cell.continuesAbove = val !== "restart";
  }

  #addText(text: string): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph === undefined || text === "") return;
    paragraph.text += text;
    if (this.#cell && text.trim() !== "") this.#cell.isBold &&= this.#run.isBold;
  }

  /** Marks a paragraph whose end was deleted, so that it continues in the next one. */
  #joinParagraph(): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph) paragraph.isJoinedToNext = true;
  }

  #endParagraph(): void {
    const paragraph = this.#paragraphs.pop();
    if (paragraph === undefined) return;
    const { style, outlineLevel, isJoinedToNext } = paragraph;
    const joined = this.#joinedText + paragraph.text;
    this.#joinedText = isJoinedToNext ? joined : "";
    const text = toOneLine(joined);
    if (isJoinedToNext || text === "" || this.#styles.isOfContents(style)) return;
    if (this.#cell) {
      this.#cell.text += `${text}\n`;
      return;
    }
    const level = this.#styles.findHeadingLevel(style, outlineLevel);
    if (level === undefined) this.#add(text);
    else {
      const above = Array.from({ length: level - 1 }, (_, index) => this.#headingByLevel[index] ?? "");
      this.#headingByLevel = [...above, text];
    }
  }

  #openTable(): void {
    this.#tableDepth++;
    if (this.#tableDepth > 1) return;
    this.#table = { rows: new SheetRows((text) => this.#add(text)), rowCount: 0, style: "", hasHeadingRow: false };
  }

  #endTable(): void {
    this.#tableDepth--;
    if (this.#tableDepth > 0) return;
    this.#table?.rows.end();
    this.#table = undefined;
  }

  #endCell(): void {
    if (this.#cell) this.#row.cells.push({ ...this.#cell, text: toOneLine(this.#cell.text) });
    this.#cell = undefined;
  }

  #endRow(): void {
    const { cells, isHeading } = this.#row;
    const table = this.#table;
    if (table === undefined || cells.length === 0) return;
    const isFirst = table.rowCount === 0;
    table.rowCount++;
    const filled = cells.filter(({ text }) => text !== "");
    const isMarked =
      isHeading ||
      (isFirst && table.hasHeadingRow && this.#styles.hasHeadingRow(table.style)) ||
      (isFirst && filled.length > 1 && filled.every(({ isBold }) => isBold));
    table.rows.add(cells, isMarked || (cells.length < MIN_COLUMNS_WITH_HEADINGS ? false : undefined));
  }

  #endNote(): void {
    if (this.#note === undefined) return;
    const { key, firstBlock } = this.#note;
    const text = this.blocks.splice(firstBlock).map((block) => block.text);
    if (text.length > 0) this.notes.set(key, text.join(" "));
    this.#note = undefined;
  }

  #add(text: string): void {
    if (text === "") return;
    this.blocks.push({ headings: this.#headingByLevel.filter((heading) => heading !== ""), text });
  }
}

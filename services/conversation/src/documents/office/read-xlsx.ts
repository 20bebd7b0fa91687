import { withoutNul } from "../../text.ts";
import { type Block, toOneLine } from "../blocks/block.ts";
import { UnreadableError } from "../reader-process/unreadable-error.ts";
import { CellFormats } from "./cell-format.ts";
import { type CellRange, MergedCells, parseRange, parseReference } from "./merged-cells.ts";
import { type Attributes, OfficePackage } from "./office-package.ts";
import { SheetRows } from "./sheet-rows.ts";

/** An escaped character of a text: `_x000D_`. */
const ESCAPED = /_x([0-9A-F]{4})_/gi;

type Sheet = { name: string; path: string };

type Workbook = {
  file: OfficePackage;
  strings: readonly string[];
  formats: CellFormats;
  hasDatesFrom1904: boolean;
};

/**
 * Splits the sheets of an XLSX file into a block for each row. Leaves out hidden sheets, rows and columns, because their authors do not show them. The
 * result of a formula is the stored one.
 */
export async function readXlsx(content: Uint8Array): Promise<Block[]> {
  const file = await OfficePackage.open(content);
  const main = await file.findMainPart();
  const relationships = await file.readRelationships(main);
  const pathOf = (type: string) => relationships.find((each) => each.type.endsWith(type))?.path ?? "";
  const formats = new CellFormats();
  await formats.read(file, pathOf("/styles"));
  const { sheets, hasDatesFrom1904 } = await readSheets(file, main, relationships);
  const workbook = { file, strings: await readStrings(file, pathOf("/sharedStrings")), formats, hasDatesFrom1904 };
  const blocks: Block[] = [];
  for (const sheet of sheets) blocks.push(...(await readSheet(workbook, sheet)));
  return blocks;
}

async function readSheets(
  file: OfficePackage,
  main: string,
  relationships: readonly { id: string; type: string; path: string }[],
): Promise<{ sheets: Sheet[]; hasDatesFrom1904: boolean }> {
  const sheets: Sheet[] = [];
  let hasDatesFrom1904 = false;
  let isWorkbook = false;
  await file.readXml(main, {
    open: (name, { name: sheetName = "", id = "", state = "visible", date1904 = "" }) => {
      isWorkbook ||= name === "workbook";
      if (name === "workbookPr") hasDatesFrom1904 = isTrue(date1904);
      const part = relationships.find((each) => each.id === id && each.type.endsWith("/worksheet"));
      if (name === "sheet" && state === "visible" && part) sheets.push({ name: toOneLine(sheetName), path: part.path });
    },
  });
  if (!isWorkbook) throw new UnreadableError("broken_office");
  return { sheets, hasDatesFrom1904 };
}

async function readStrings(file: OfficePackage, path: string): Promise<string[]> {
  const strings: string[] = [];
  const text = new RichText();
  await file.readXml(path, {
    open: (name) => text.open(name),
    text: (part) => text.text(part),
    close: (name) => {
      text.close(name);
      if (name === "si") strings.push(text.take());
    },
  });
  return strings;
}

/** Collects the text of `t` elements, without the pronunciation of East Asian text. */
class RichText {
  #text = "";
  #isInText = false;
  #isInPronunciation = false;

  open(name: string): void {
    if (name === "rPh") this.#isInPronunciation = true;
    else if (name === "t") this.#isInText = !this.#isInPronunciation;
  }

  text(part: string): void {
    if (this.#isInText) this.#text += part;
  }

  close(name: string): void {
    if (name === "rPh") this.#isInPronunciation = false;
    else if (name === "t") this.#isInText = false;
  }

  take(): string {
    const text = this.#text.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
    this.#text = "";
    return withoutNul(toOneLine(text));
  }
}

async function readSheet(workbook: Workbook, { name, path }: Sheet): Promise<Block[]> {
  const blocks: Block[] = [];
  // Merged cells come after the rows in the file, so it is read twice.
  const { merged, hiddenColumns } = await readLayout(workbook.file, path);
  const rows = new SheetRows((text) => blocks.push({ headings: [name], text }));
  let previous = 0;
  await readRows(workbook, path, ({ row, texts, isHidden }) => {
    const cells = merged.toCells(row, texts, hiddenColumns);
    if (isHidden) return;
    if (row > previous + 1) rows.add([]);
    rows.add(cells);
    previous = row;
  });
  rows.end();
  return blocks;
}

async function readLayout(file: OfficePackage, path: string) {
  const ranges: CellRange[] = [];
  const hiddenColumns: { min: number; max: number }[] = [];
  await file.readXml(path, {
    open: (name, { ref = "", min = "", max = "", hidden = "" }) => {
      const range = name === "mergeCell" ? parseRange(ref) : undefined;
      if (range) ranges.push(range);
      if (name === "col" && isTrue(hidden)) hiddenColumns.push({ min: Number(min), max: Number(max) });
    },
  });
  return { merged: new MergedCells(ranges), hiddenColumns };
}

type SheetRow = { row: number; texts: ReadonlyMap<number, string>; isHidden: boolean };

async function readRows(workbook: Workbook, path: string, onRow: (row: SheetRow) => void): Promise<void> {
  let row = 0;
  let column = 0;
  let isHidden = false;
  let texts = new Map<number, string>();
  let cell: Attributes = {};
  let value = "";
  let isInValue = false;
  const inline = new RichText();
  await workbook.file.readXml(path, {
    open: (name, attributes) => {
      if (name === "row") {
        row = Number(attributes.r ?? row + 1);
        column = 0;
        isHidden = isTrue(attributes.hidden ?? "");
        texts = new Map();
      } else if (name === "c") {
        column = parseReference(attributes.r ?? "")?.column ?? column + 1;
        cell = attributes;
        value = "";
      } else if (name === "v") isInValue = true;
      else inline.open(name);
    },
    text: (part) => {
      if (isInValue) value += part;
      else inline.text(part);
    },
    close: (name) => {
      if (name === "v") isInValue = false;
      else if (name === "c") {
        const text = formatCell(workbook, cell, cell.t === "inlineStr" ? inline.take() : value);
        if (text !== "") texts.set(column, text);
      } else if (name === "row") onRow({ row, texts, isHidden });
      else inline.close(name);
    },
  });
}

function formatCell(
  { strings, formats, hasDatesFrom1904 }: Workbook,
  { t: type, s: style }: Attributes,
  value: string,
) {
  switch (type) {
    case "s":
      return strings[Number(value)] ?? "";
    case "b":
      return isTrue(value) ? "TRUE" : "FALSE";
    // An error, such as #N/A.
    case "e":
      return "";
    case "inlineStr":
    case "str":
    case "d":
      return withoutNul(toOneLine(value));
    default:
      if (value.trim() === "" || !Number.isFinite(Number(value))) return withoutNul(toOneLine(value));
      return toOneLine(formats.formatNumber(Number(value), Number(style ?? 0), hasDatesFrom1904));
  }
}

function isTrue(value: string): boolean {
  return value === "1" || value === "true";
}

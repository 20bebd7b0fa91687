import { strToU8, zipSync } from "fflate";

const RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE_RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships";

/** Returns a ZIP archive of parts by their paths. */
export function zipFile(parts: Readonly<Record<string, string | Uint8Array>>): Uint8Array {
  const entries = Object.entries(parts).map(([path, content]) => [
    path,
    typeof content === "string" ? strToU8(content) : content,
  ]);
  return zipSync(Object.fromEntries(entries), { level: 9 });
}

function relationships(targets: Readonly<Record<string, string>>): string {
  const all = Object.entries(targets).map(
    ([target, type], index) =>
      `<Relationship Id="rId${index + 1}" Type="${RELATIONSHIPS}/${type}" Target="${target}"/>`,
  );
  return `<?xml version="1.0"?><Relationships xmlns="${PACKAGE_RELATIONSHIPS}">${all.join("")}</Relationships>`;
}

export type DocxParts = { styles?: string; footnotes?: string; parts?: Record<string, string | Uint8Array> };

/** Returns a DOCX file. `body` is the XML in its body. */
export function docxFile(body: string, { styles = "", footnotes = "", parts = {} }: DocxParts = {}): Uint8Array {
  return zipFile({
    "_rels/.rels": relationships({ "word/document.xml": "officeDocument" }),
    "word/_rels/document.xml.rels": relationships({ "styles.xml": "styles", "/word/footnotes.xml": "footnotes" }),
    "word/document.xml": `<?xml version="1.0"?><w:document xmlns:w="w"><w:body>${body}</w:body></w:document>`,
    "word/styles.xml": `<w:styles xmlns:w="w">${styles}</w:styles>`,
    "word/footnotes.xml": `<w:footnotes xmlns:w="w">${footnotes}</w:footnotes>`,
    ...parts,
  });
}

/** Returns a paragraph of a DOCX file. */
export function paragraph(text: string, style = ""): string {
  const properties = style === "" ? "" : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`;
  return `<w:p>${properties}<w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
}

/** Returns a table of a DOCX file. */
export function docxTable(rows: readonly (readonly string[])[]): string {
  const toRow = (cells: readonly string[]) =>
    `<w:tr>${cells.map((text) => `<w:tc>${paragraph(text)}</w:tc>`).join("")}</w:tr>`;
  return `<w:tbl>${rows.map(toRow).join("")}</w:tbl>`;
}

export type XlsxSheet = {
  name: string;
  /** The XML of the rows. */
  rows: string;
  columns?: string;
  merged?: readonly string[];
  state?: string;
};

export type XlsxParts = {
  strings?: readonly string[];
  /** The number format of each style of cells. */
  formats?: readonly string[];
  hasDatesFrom1904?: boolean;
  parts?: Record<string, string | Uint8Array>;
};

/** Returns an XLSX file. */
export function xlsxFile(
  sheets: readonly XlsxSheet[],
  { strings = [], formats = [], hasDatesFrom1904 = false, parts = {} }: XlsxParts = {},
): Uint8Array {
  const sheetPaths = sheets.map((_, index) => `worksheets/sheet${index + 1}.xml`);
  const targets = {
    ...Object.fromEntries(sheetPaths.map((path) => [path, "worksheet"])),
    "styles.xml": "styles",
    "sharedStrings.xml": "sharedStrings",
  };
  const list = sheets.map(
    ({ name, state = "visible" }, index) =>
      `<sheet name="${name}" sheetId="${index + 1}" state="${state}" r:id="rId${index + 1}"/>`,
  );
  return zipFile({
    "_rels/.rels": relationships({ "xl/workbook.xml": "officeDocument" }),
    "xl/_rels/workbook.xml.rels": relationships(targets),
    "xl/workbook.xml": `<workbook xmlns:r="r"><workbookPr date1904="${hasDatesFrom1904}"/><sheets>${list.join("")}</sheets></workbook>`,
    "xl/styles.xml": `<styleSheet><numFmts>${formats
      .map((code, index) => `<numFmt numFmtId="${200 + index}" formatCode="${code.replaceAll('"', "&quot;")}"/>`)
      .join("")}</numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${formats
      .map((_, index) => `<xf numFmtId="${200 + index}"/>`)
      .join("")}<xf numFmtId="14"/></cellXfs></styleSheet>`,
    "xl/sharedStrings.xml": `<sst>${strings.map((text) => `<si>${text}</si>`).join("")}</sst>`,
    ...Object.fromEntries(
      sheets.map(({ columns = "", rows, merged = [] }, index) => [
        `xl/worksheets/sheet${index + 1}.xml`,
        `<worksheet><cols>${columns}</cols><sheetData>${rows}</sheetData><mergeCells>${merged
          .map((ref) => `<mergeCell ref="${ref}"/>`)
          .join("")}</mergeCells></worksheet>`,
      ]),
    ),
    ...parts,
  });
}

/** Returns a row of an XLSX file: texts are inline strings, numbers have the first style, and undefined is no cell. */
export function xlsxRow(number: number, cells: readonly (string | number | undefined)[], style = 0): string {
  const all = cells.map((value, index) => {
    const reference = `${String.fromCharCode(65 + index)}${number}`;
    if (value === undefined) return "";
    if (typeof value === "number") return `<c r="${reference}" s="${style}"><v>${value}</v></c>`;
    return `<c r="${reference}" t="inlineStr"><is><t>${value}</t></is></c>`;
  });
  return `<row r="${number}">${all.join("")}</row>`;
}

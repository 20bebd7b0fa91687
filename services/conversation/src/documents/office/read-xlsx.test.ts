import { describe, expect, test } from "vitest";
import { type XlsxParts, type XlsxSheet, xlsxFile, xlsxRow } from "../../testing/office-files.ts";
import { readXlsx } from "./read-xlsx.ts";

const blocksOf = async (sheets: readonly XlsxSheet[], parts?: XlsxParts) => await readXlsx(xlsxFile(sheets, parts));
const textsOf = async (sheet: Partial<XlsxSheet>, parts?: XlsxParts) =>
  (await blocksOf([{ name: "Prices", rows: "", ...sheet }], parts)).map(({ text }) => text);

describe("readXlsx", () => {
  test("returns a sentence for each row of each visible sheet, under the sheet's name", async () => {
    const rows = (item: string, price: number) => xlsxRow(1, ["Item", "Price"]) + xlsxRow(2, [item, price]);
    const sheets = [
      { name: "Bread &amp; rolls", rows: rows("Rye", 4.2) },
      { name: "Costs", rows: rows("Flour", 1), state: "hidden" },
      { name: "More costs", rows: rows("Salt", 1), state: "veryHidden" },
      { name: "Cakes", rows: rows("Cheesecake", 3) },
    ];
    expect(await blocksOf(sheets)).toEqual([
      { headings: ["Bread & rolls"], text: "Item: Rye; Price: 4.2." },
      { headings: ["Cakes"], text: "Item: Cheesecake; Price: 3." },
    ]);
  });

  test("formats numbers and dates as the sheet shows them", async () => {
    const formats = ['#,##0.00\\ "€"', "0%", "dd.mm.yyyy", "h:mm AM/PM", "[[broken"];
    const cell = (style: number, value: string) => `<c s="${style}"><v>${value}</v></c>`;
    const rows = `<row>${cell(1, "1234.5")}${cell(2, "0.19")}${cell(3, "45000")}${cell(4, "0.375")}${cell(5, "7.5")}</row>
      <row>${cell(6, "45000")}${cell(0, "0.30000000000000004")}${cell(0, "4006381333931")}${cell(99, "1.5E-3")}</row>`;
    expect(await textsOf({ rows }, { formats })).toEqual([
      "1,234.50 €; 19%; 15.03.2023; 9:00 AM; 7.5.",
      "2023-03-15; 0.3; 4006381333931; 0.0015.",
    ]);
    expect(await textsOf({ rows: `<row>${cell(3, "43538")}</row>` }, { formats, hasDatesFrom1904: true })).toEqual([
      "15.03.2023.",
    ]);
  });

  test("reads shared, rich, inline and computed texts, and no errors and pronunciations", async () => {
    const strings = [
      "<t>Rye_x000D_\n bread</t>",
      "<r><t>So</t></r><r><t>ft</t></r>",
      "<t>東京</t><rPh><t>トウキョウ</t></rPh>",
    ];
    const rows = `<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c><c t="s"><v>9</v></c></row>
      <row><c t="str"><f>A1&amp;"!"</f><v>Hi &lt;you&gt;</v></c><c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c>
        <c t="d"><v>2026-03-01</v></c><c><f>SUM(A1)</f></c></row>`;
    expect(await textsOf({ rows }, { strings })).toEqual(["Rye bread: Hi <you>; Soft: TRUE; 2026-03-01."]);
  });

  test("repeats merged cells, and combines headings of two rows", async () => {
    const rows = [
      xlsxRow(1, ["Prices of 2026"]),
      xlsxRow(2, ["Kind", "Item", "Price"]),
      xlsxRow(3, [undefined, undefined, "small", "large"]),
      xlsxRow(4, ["Bread", "Rye", 2.1, 4.2]),
      xlsxRow(5, [undefined, "Spelt", "sold out"]),
      xlsxRow(6, ["Open on holidays"]),
    ].join("");
    const merged = ["A1:D1", "C2:D2", "A2:A3", "B2:B3", "A4:A5", "C5:D5", "A6:D6"];
    expect(await textsOf({ rows, merged })).toEqual([
      "Prices of 2026.",
      "Kind: Bread; Item: Rye; Price small: 2.1; Price large: 4.2.",
      "Kind: Bread; Item: Spelt; Price small: sold out; Price large: sold out.",
      "Open on holidays.",
    ]);
  });

  test("leaves out hidden rows and columns", async () => {
    const rows = `${xlsxRow(1, ["Item", "Cost", "Price"])}${xlsxRow(2, ["Rye", 1, 4])}${xlsxRow(3, ["Old", 1, 4]).replace("<row", '<row hidden="1"')}`;
    expect(await textsOf({ rows, columns: '<col min="2" max="2" hidden="1"/>' })).toEqual(["Item: Rye; Price: 4."]);
  });

  test("begins a table with its own headings after a gap, and reads cells without references", async () => {
    const rows = `${xlsxRow(1, ["Item", "Price"])}${xlsxRow(2, ["Rye", 4])}${xlsxRow(9, ["Day", "From", "To"])}${xlsxRow(10, ["Mon", 9, 17])}
      <row><c t="inlineStr"><is><t>Tue</t></is></c><c/><c><v>18</v></c></row>`;
    expect(await textsOf({ rows })).toEqual([
      "Item: Rye; Price: 4.",
      "Day: Mon; From: 9; To: 17.",
      "Day: Tue; To: 18.",
    ]);
  });

  test("reads elements with a namespace prefix and UTF-16", async () => {
    const xml = `<x:worksheet><x:sheetData><x:row><x:c t="inlineStr"><x:is><x:t>Käse</x:t></x:is></x:c></x:row></x:sheetData></x:worksheet>`;
    const parts = { "xl/worksheets/sheet1.xml": Buffer.from(`\uFEFF${xml}`, "utf16le") };
    expect(await textsOf({}, { parts })).toEqual(["Käse."]);
  });
});

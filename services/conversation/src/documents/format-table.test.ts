import { expect, test } from "vitest";
import { docxFile, docxTable, paragraph, xlsxFile, xlsxRow } from "../testing/office-files.ts";
import { type SmallPdfLine, smallPdf } from "../testing/small-pdf.ts";
import { type Format, splitDocument, type TextFormat } from "./document.ts";
import { toUtf8 } from "./media-type.ts";
import { readDocx } from "./office/read-docx.ts";
import { readXlsx } from "./office/read-xlsx.ts";
import { readPdf } from "./pdf/read-pdf.ts";

/** A document, and the texts that must be found in it, each within one passage. */
type Row = [name: string, format: Format, content: string | Uint8Array, facts: string[]];

const RYE = "Product: Rye bread; Price: 4.20";
const PRICES = [
  ["Product", "Price"],
  ["Rye bread", "4.20"],
  ["Soda", "1.95"],
];
const delimited = (delimiter: string) => PRICES.map((row) => row.join(delimiter)).join("\n");
const utf16 = (text: string) => Buffer.from(text, "utf16le");
const html = (rows: string) => `<h1>Shop</h1><table>${rows}</table>`;
const sheet = (rows: readonly (readonly (string | number)[])[], more = {}) =>
  xlsxFile([{ name: "Shop", rows: rows.map((row, index) => xlsxRow(index + 1, row)).join(""), ...more }]);
const at = (x: number, y: number, text: string): SmallPdfLine => ({ size: 11, x, y, text });
const pdf = (...pages: SmallPdfLine[][]) => new Uint8Array(smallPdf(pages));

const TABLE: Row[] = [
  ["a paragraph", "txt", "We open\nat nine.\n\nClosed on Sundays.", ["We open at nine.", "Closed on Sundays."]],
  ["a list", "txt", "Bring:\n- a pen\n- paper", ["- a pen\n- paper"]],
  ["UTF-16 with a mark", "txt", utf16("\uFEFFCafé at 9"), ["Café at 9"]],
  ["UTF-16 without a mark", "txt", utf16("Café at 9"), ["Café at 9"]],
  ["big-endian UTF-16", "txt", utf16("\uFEFFCafé at 9").swap16(), ["Café at 9"]],
  ["headings", "md", "# Shop\n\n## Hours\n\nOpen at nine.", ["Shop > Hours > Open at nine."]],
  ["a table", "md", "| Product | Price |\n|---|---|\n| Rye bread | 4.20 |", [RYE]],
  ["HTML within it", "md", "<details><summary>Ship abroad?</summary>\n\nYes.\n\n</details>", ["Ship abroad? > Yes."]],
  ["code", "md", "```\nnpm start\n```", ["```\nnpm start\n```"]],
  ["headings of columns", "html", html("<tr><th>Product<th>Price<tr><td>Rye bread<td>4.20"), [`Shop > ${RYE}`]],
  [
    "cells over columns",
    "html",
    html("<tr><th>Product<th>Mon<th>Tue<tr><td>Rye<td colspan=2>sold out"),
    ["Mon: sold out; Tue: sold out"],
  ],
  [
    "cells over rows",
    "html",
    html("<tr><th>Kind<th>Item<tr><td rowspan=2>Bread<td>Rye<tr><td>Oat"),
    ["Kind: Bread; Item: Oat"],
  ],
  [
    "two rows of headings",
    "html",
    html("<tr><th rowspan=2>Item<th colspan=2>Price<tr><th>S<th>L<tr><td>Rye<td>2<td>4"),
    ["Item: Rye; Price S: 2; Price L: 4"],
  ],
  ["a button in a heading", "html", "<h3><button>Can I return it?</button></h3><p>Yes.", ["Can I return it? > Yes."]],
  [
    "a nested summary",
    "html",
    "<details><summary>Help</summary><details><summary>Cost?</summary>Free.</details></details>",
    ["Help > Cost? > Free."],
  ],
  ["a declared charset", "html", Buffer.from('<meta charset="windows-1252"><p>Caf\xe9', "latin1"), ["Café"]],
  [
    "a charset of Japan",
    "html",
    Buffer.concat([Buffer.from('<meta charset="shift_jis"><p>'), Buffer.of(0x93, 0xfa, 0x96, 0x7b)]),
    ["日本"],
  ],
  ["commas", "csv", delimited(","), [RYE]],
  ["semicolons", "csv", delimited(";"), [RYE]],
  ["tabs", "csv", delimited("\t"), [RYE]],
  ["bars", "csv", delimited("|"), [RYE]],
  ["UTF-16 as Excel writes it", "csv", utf16(`\uFEFF${delimited("\t")}`), [RYE]],
  ["a line break in a cell", "csv", 'Product,Note\n"Rye","a\nb"', ["Product: Rye; Note: a b"]],
  ["a mark of UTF-8", "csv", `\uFEFF${delimited(",")}`, [RYE]],
  ["ragged rows", "csv", "A,B,C\n1\n2,x,y,z", ["A: 1", "A: 2; B: x; C: y; z"]],
  ["a title above", "csv", "Prices,\nProduct,Price\nRye bread,4.20", ["Prices", RYE]],
  ["tabs and commas", "tsv", "Product\tNote\nRye\tdark, moist", ["Product: Rye; Note: dark, moist"]],
  ["quotes", "tsv", 'Product\tNote\nRye\t"a ""b"""', ['Note: a "b"']],
  [
    "a heading",
    "docx",
    docxFile(`${paragraph("Hours", "H")}${paragraph("Open at nine.")}`, {
      styles: '<w:style w:styleId="H"><w:name w:val="heading 1"/></w:style>',
    }),
    ["Hours > Open at nine."],
  ],
  [
    "a table of three columns",
    "docx",
    docxFile(
      docxTable([
        ["Item", "S", "L"],
        ["Rye", "2", "4"],
      ]),
    ),
    ["Item: Rye; S: 2; L: 4"],
  ],
  [
    "a tracked change",
    "docx",
    docxFile(
      "<w:p><w:r><w:t>Costs </w:t></w:r><w:del><w:r><w:delText>5</w:delText></w:r></w:del><w:ins><w:r><w:t>4</w:t></w:r></w:ins></w:p>",
    ),
    ["Costs 4"],
  ],
  [
    "a footnote",
    "docx",
    docxFile('<w:p><w:r><w:t>Free</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r></w:p>', {
      footnotes: `<w:footnote w:id="1">${paragraph("from 50 euros")}</w:footnote>`,
    }),
    ["Free (from 50 euros)"],
  ],
  [
    "numbers",
    "xlsx",
    sheet([
      ["Product", "Price"],
      ["Rye bread", 4.2],
    ]),
    ["Shop > Product: Rye bread; Price: 4.2"],
  ],
  [
    "a format of money",
    "xlsx",
    xlsxFile([{ name: "A", rows: xlsxRow(1, [4.2], 1) }], { formats: ["0.00\\ €"] }),
    ["4.20 €"],
  ],
  ["a date", "xlsx", xlsxFile([{ name: "A", rows: xlsxRow(1, [45000], 1) }]), ["2023-03-15"]],
  [
    "merged cells",
    "xlsx",
    sheet(
      [
        ["Kind", "Item"],
        ["Bread", "Rye"],
        ["", "Oat"],
      ],
      { merged: ["A2:A3"] },
    ),
    ["Kind: Bread; Item: Oat"],
  ],
  [
    "two sheets",
    "xlsx",
    xlsxFile(["Bread", "Cake"].map((name) => ({ name, rows: xlsxRow(1, [`${name} text`]) }))),
    ["Bread > Bread text", "Cake > Cake text"],
  ],
  [
    "a paragraph over lines",
    "pdf",
    pdf([at(50, 700, "We open at nine on week-"), at(50, 686, "days.")]),
    ["We open at nine on weekdays."],
  ],
  [
    "columns of a table",
    "pdf",
    pdf([at(50, 700, "Rye bread"), at(50, 680, "Soda"), at(300, 700, "4.20"), at(300, 680, "1.95")]),
    ["Rye bread; 4.20", "Soda; 1.95"],
  ],
  ["a spaced title", "pdf", pdf([{ size: 11, y: 700, spacing: 5, text: "OPENING HOURS" }]), ["OPENING HOURS"]],
  [
    "repeated footers",
    "pdf",
    pdf(...[1, 2, 3].map((page) => [at(50, 700, `Fact ${"abc"[page - 1]}.`), at(50, 30, `Page ${page}`)])),
    ["Fact a.", "Fact c."],
  ],
];

async function readBlocks(format: Format, content: string | Uint8Array) {
  const bytes = new Uint8Array(Buffer.from(content as string));
  if (format === "docx") return readDocx(bytes);
  if (format === "xlsx") return readXlsx(bytes);
  if (format === "pdf") return readPdf(bytes);
  const text = new TextDecoder().decode(toUtf8(bytes, { contentType: "", format }));
  return splitDocument(format satisfies TextFormat, text);
}

test.each(TABLE)("the facts are found in %s of %s", async (_, format, content, facts) => {
  const texts = (await readBlocks(format, content)).map(({ headings, text }) => [...headings, text].join(" > "));
  for (const fact of facts)
    expect(
      texts.filter((text) => text.includes(fact)),
      texts.join("\n"),
    ).not.toEqual([]);
});

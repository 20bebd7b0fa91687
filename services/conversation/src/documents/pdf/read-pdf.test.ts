import { describe, expect, test } from "vitest";
import { type SmallPdfLine, smallPdf } from "../../testing/small-pdf.ts";
import { type PdfRun, toLines } from "./pdf-lines.ts";
import { readPdf } from "./read-pdf.ts";

const textsOf = async (...pages: SmallPdfLine[][]) =>
  (await readPdf(new Uint8Array(smallPdf(pages)))).map(({ text }) => text);
const at = (x: number, y: number, text: string): SmallPdfLine => ({ size: 11, x, y, text });

describe("readPdf", () => {
  test("keeps the cells of a table in their row, in any order of drawing", async () => {
    const names = ["Bread", "Rye", "Spelt roll"].map((text, row) => at(50, 700 - row * 20, text));
    const prices = ["Price", "4.20", "0.95"].map((text, row) => at(300, 700.5 - row * 20, text));
    const rows = ["Bread; Price", "Rye; 4.20", "Spelt roll; 0.95"];
    expect(await textsOf([...names, ...prices])).toEqual(rows);
    expect(await textsOf([...prices.toReversed(), ...names])).toEqual(rows);
    expect(await textsOf([at(50, 700, "Rye bread ............ 4.20")])).toEqual(["Rye bread; 4.20"]);
  });

  test("reads columns of prose one after the other, below a title over both", async () => {
    const column = (x: number, name: string) =>
      [1, 2, 3, 4, 5].map((line) => at(x, 700 - line * 14, `The ${name} column has its line ${line}`));
    const [left, right] = [column(50, "left"), column(320, "right")];
    const title = { size: 20, y: 740, x: 50, text: "A title that is longer than the left of the columns" };
    const mixed = left.flatMap((line, index) => [right[index] ?? line, line]);
    expect(await textsOf([...mixed, title])).toEqual(
      ["left", "right"].map((name) =>
        [1, 2, 3, 4, 5].map((line) => `The ${name} column has its line ${line}`).join(" "),
      ),
    );
  });

  test("joins letters that are spaced, and words that are drawn in parts", async () => {
    const title = (spacing: number) => ({ size: 11, y: 700, spacing, text: "OPENING HOURS" });
    for (const spacing of [0, 2, 4, 6])
      expect(await textsOf([title(spacing)]), `${spacing}`).toEqual(["OPENING HOURS"]);
    expect(await textsOf([at(50, 600, "Deliv"), at(74.2, 600, "ery is free.")])).toEqual(["Delivery is free."]);
    expect(await textsOf([at(50, 700, "S A L E")])).toEqual(["SALE"]);
    expect(await textsOf([at(50, 700, "Sizes: S M L")])).toEqual(["Sizes: S M L"]);
  });

  test("leaves out repeated headers, footers and page numbers, and no titles that differ in their number", async () => {
    const page = (number: number) => [
      at(50, 800, "Bakery Ltd, price list"),
      { size: 20, y: 760, text: `Chapter ${number}` },
      at(50, 730, `Text of chapter ${"abc"[number - 1]}.`),
      at(50, 715, "The same sentence on each page."),
      at(50, 400, `More ${"xyz"[number - 1]}.`),
      at(280, 30, `Page ${number} of 3`),
    ];
    const blocks = await readPdf(new Uint8Array(smallPdf([page(1), page(2), page(3)])));
    expect(blocks.map(({ headings, text }) => [...headings, text].join(" > "))).toEqual(
      [1, 2, 3].flatMap((number) => [
        `Chapter ${number} > Text of chapter ${"abc"[number - 1]}. The same sentence on each page.`,
        `Chapter ${number} > More ${"xyz"[number - 1]}.`,
      ]),
    );
  });
});

describe("toLines", () => {
  const run = (x: number, text: string): PdfRun => ({ text, x, y: 700, width: text.length * 6, size: 12 });

  test("orders Arabic and Hebrew from right to left, with numbers and Latin words among them", () => {
    expect(
      toLines([run(50, "شيكل"), run(80, "4.20"), run(110, "هو"), run(128, "الخبز"), run(162, "سعر")]),
    ).toMatchObject([{ text: "سعر الخبز هو 4.20 شيكل" }]);
    expect(toLines([run(60, "Fi"), run(45, "Wi"), run(80, "משלוח חינם")])).toMatchObject([
      { text: "משלוח חינם Wi Fi" },
    ]);
    expect(toLines([run(50, "12.50"), run(300, "לחם")])).toMatchObject([{ text: "לחם; 12.50", isRow: true }]);
  });

  test("replaces presentation forms and ligatures, and keeps other characters", () => {
    expect(toLines([run(50, "\ufef7\ufeb3\ufecc\ufe8e\ufead")])).toMatchObject([{ text: "لأسعار".normalize("NFKC") }]);
    expect(toLines([run(50, "ﬁne, 20 m² ½")])).toMatchObject([{ text: "fine, 20 m² ½" }]);
  });

  test("puts a superscript into its line", () => {
    const note = { text: "1", x: 86, y: 704, width: 4, size: 7 };
    expect(toLines([note, run(50, "Rye 4€")])).toMatchObject([{ text: "Rye 4€1", y: 700, size: 12 }]);
  });
});

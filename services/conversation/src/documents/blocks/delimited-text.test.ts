import { describe, expect, test } from "vitest";
import { splitDocument } from "../document.ts";

const rowsOf = (text: string, format: "csv" | "tsv" = "csv") => splitDocument(format, text).map((block) => block.text);
const BREAD = ["Product: Rye bread; Price: 4.20.", "Product: Spelt roll; Price: 0.95."];

describe("splitDocument reads CSV", () => {
  test.each([
    ["commas", "Product,Price\nRye bread,4.20\nSpelt roll,0.95\n"],
    ["semicolons", "Product;Price\r\nRye bread;4.20\r\nSpelt roll;0.95"],
    ["tabs", "Product\tPrice\nRye bread\t4.20\nSpelt roll\t0.95\n"],
    ["vertical bars", "Product|Price\nRye bread|4.20\nSpelt roll|0.95\n"],
    ["quoted cells", '"Product","Price"\r"Rye bread","4.20"\r"Spelt roll","0.95"\r'],
    ["Excel's line with the delimiter", "sep=;\r\nProduct;Price\r\nRye bread;4.20\r\nSpelt roll;0.95\r\n"],
    ["blank lines", "\n\nProduct,Price\n\nRye bread,4.20\n,\nSpelt roll,0.95\n\n"],
  ])("with %s", (_, text) => {
    expect(rowsOf(text)).toEqual(BREAD);
  });

  test("with delimiters, line breaks and quotes in quoted cells", () => {
    const text = 'Name,Note\n"Bread, rye","Sliced\non request: say ""thin"""\n5" cake,plain "text"\n';
    expect(rowsOf(text)).toEqual([
      'Name: Bread, rye; Note: Sliced on request: say "thin".',
      'Name: 5" cake; Note: plain "text".',
    ]);
  });

  test("with decimal commas between semicolons", () => {
    expect(rowsOf("Artikel;Preis;Hinweis\nBrot;4,20;dunkel, saftig\nBrötchen;0,95;\n")).toEqual([
      "Artikel: Brot; Preis: 4,20; Hinweis: dunkel, saftig.",
      "Artikel: Brötchen; Preis: 0,95.",
    ]);
  });

  test.each([
    ["decimal commas in both lines", "Brot;4,20\nBrötchen;0,95\n", ["Brot; 4,20.", "Brötchen; 0,95."]],
    ["semicolons in both lines", "Tea,hot; sweet\nCake,soft; warm\n", ["Tea: Cake; hot; sweet: soft; warm."]],
    [
      "a title with commas",
      "Prices, fees, taxes\nItem;Price\nTea;2,50\nCake;3,00\n",
      ["Prices, fees, taxes.", "Item: Tea; Price: 2,50.", "Item: Cake; Price: 3,00."],
    ],
  ])("with a delimiter that is not in the text, for %s", (_, text, rows) => {
    expect(rowsOf(text)).toEqual(rows);
  });

  test("with rows that are shorter or longer than the headings, and headings that are missing or repeated", () => {
    expect(rowsOf("Product,,Price,Price\nRye,dark,4.20,3.80,new\nCake\n")).toEqual([
      "Product: Rye; dark; Price: 4.20; Price: 3.80; new.",
      "Product: Cake.",
    ]);
  });

  test.each([
    ["no headings", "Rye bread,4.20\nSpelt roll,0.95\n", ["Rye bread; 4.20.", "Spelt roll; 0.95."]],
    ["years as headings", "City,2024,2025\nOslo,3.5,4.1\n", ["City: Oslo; 2024: 3.5; 2025: 4.1."]],
    ["sizes as headings", "Shoe,36,37,38\nRunner,4,0,7\n", ["Shoe: Runner; 36: 4; 37: 0; 38: 7."]],
    [
      "a title and a date",
      "Prices\nFrom,1 May\n\nItem,Price\nTea,2.50\n",
      ["Prices.", "From; 1 May.", "Item: Tea; Price: 2.50."],
    ],
    ["two tables", "A,B\nx,1\n\nC,D\ny,2\n", ["A: x; B: 1.", "C: y; D: 2."]],
    [
      "sentences",
      "Do you deliver on public holidays?,No.\nCan I pay by card at the door?,Yes.\n",
      ["Do you deliver on public holidays?; No.", "Can I pay by card at the door?; Yes."],
    ],
    ["headings only", "Product,Price\n", ["Product; Price."]],
    ["one column", "Rye bread\nSpelt roll\n", ["Rye bread.", "Spelt roll."]],
    ["nothing", "\n \n", []],
  ])("with %s", (_, text, rows) => {
    expect(rowsOf(text)).toEqual(rows);
  });

  test("with an open quote at the end", () => {
    expect(rowsOf('Product,Price\nRye,"4.20\nCake,3')).toEqual(["Product: Rye; Price: 4.20 Cake,3."]);
  });
});

test("splitDocument reads commas and semicolons in TSV as text", () => {
  expect(rowsOf("Item\tNote\nTea\thot, sweet; strong\n", "tsv")).toEqual(["Item: Tea; Note: hot, sweet; strong."]);
});

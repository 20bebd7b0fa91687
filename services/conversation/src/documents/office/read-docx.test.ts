import { describe, expect, test } from "vitest";
import { type DocxParts, docxFile, docxTable, paragraph } from "../../testing/office-files.ts";
import { readDocx } from "./read-docx.ts";

const textsOf = async (body: string, parts?: DocxParts) =>
  (await readDocx(docxFile(body, parts))).map(({ headings, text }) => [...headings, text].join(" > "));
const style = (id: string, name: string, more = "") =>
  `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="${name}"/>${more}</w:style>`;
const STYLES = [
  style("Titel", "Title"),
  style("berschrift1", "heading 1"),
  style("berschrift2", "heading 2", '<w:basedOn w:val="berschrift1"/>'),
  style("Frage", "Question", '<w:basedOn w:val="berschrift2"/>'),
  style("Kapitel", "Chapter", '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>'),
  style("Verzeichnis1", "toc 1"),
  style("A", "A", '<w:basedOn w:val="B"/>'),
  style("B", "B", '<w:basedOn w:val="A"/>'),
].join("");

describe("readDocx", () => {
  test("reads headings by the styles' names, outline levels and bases, and lists", async () => {
    const body = [
      paragraph("Terms", "Titel"),
      paragraph("Delivery ..... 1", "Verzeichnis1"),
      paragraph("Delivery", "berschrift1"),
      paragraph("We ship on &lt;weekdays&gt;.", "A"),
      paragraph("How long?", "Frage"),
      '<w:p><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>Norway: </w:t></w:r><w:r><w:t>5 days</w:t></w:r></w:p>',
      paragraph("Returns", "Kapitel"),
      '<w:p><w:pPr><w:outlineLvl w:val="1"/></w:pPr><w:r><w:t>Costs</w:t></w:r></w:p>',
      paragraph("Free."),
    ].join("");
    expect(await textsOf(body, { styles: STYLES })).toEqual([
      "Terms > Delivery > We ship on <weekdays>.",
      "Terms > Delivery > How long? > Norway: 5 days",
      "Terms > Returns > Costs > Free.",
    ]);
  });

  test("leaves out deleted, moved and hidden text, field codes and the second copy of a text box", async () => {
    const run = (text: string, properties = "") => `<w:r><w:rPr>${properties}</w:rPr><w:t>${text}</w:t></w:r>`;
    const body = `<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr>${run("Price: ")}<w:del><w:r><w:delText>5</w:delText></w:r></w:del>
      <w:ins>${run("4")}</w:ins><w:moveFrom>${run("gone")}</w:moveFrom>${run(" secret", "<w:vanish/>")}${run(" euros", '<w:vanish w:val="0"/>')}
      <w:r><w:instrText> PAGE </w:instrText></w:r><w:r><w:tab/><w:t>now</w:t><w:br/><w:t>and</w:t><w:noBreakHyphen/><w:t>on</w:t></w:r></w:p>
      <w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>${paragraph("In a box.")}</w:txbxContent></mc:Choice>
      <mc:Fallback><w:txbxContent>${paragraph("In a box.")}</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>${run("Around it.")}</w:p>`;
    expect(await textsOf(body)).toEqual(["Price: 4 euros now and-on", "In a box.", "Around it."]);
  });

  test("joins a paragraph whose end was deleted to the next", async () => {
    const body = `<w:p><w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr><w:r><w:t>Open on </w:t></w:r></w:p>${paragraph("Sundays.")}`;
    expect(await textsOf(body)).toEqual(["Open on Sundays."]);
  });

  test("puts a footnote in parentheses where the text refers to it", async () => {
    const body =
      '<w:p><w:r><w:t>Free delivery</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:t> in Norway.</w:t></w:r></w:p>';
    const footnotes = `<w:footnote w:id="-1" w:type="separator"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>
      <w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t> from 50 euros</w:t></w:r></w:p></w:footnote>`;
    expect(await textsOf(body, { footnotes })).toEqual(["Free delivery (from 50 euros) in Norway."]);
  });

  test("reads tables with marked, bold, styled and unmarked headings", async () => {
    const rows = [
      ["Item", "Price"],
      ["Rye", "4.20"],
    ];
    const labelled = ["Item: Rye; Price: 4.20."];
    const table = docxTable(rows);
    expect(await textsOf(table.replace("<w:tr>", "<w:tr><w:trPr><w:tblHeader/></w:trPr>"))).toEqual(labelled);
    const bold = docxTable(rows.slice(0, 1)).replaceAll("<w:r>", "<w:r><w:rPr><w:b/></w:rPr>");
    expect(await textsOf(`${bold.replace("</w:tbl>", "")}${docxTable(rows.slice(1)).replace("<w:tbl>", "")}`)).toEqual(
      labelled,
    );
    const styled = table.replace(
      "<w:tbl>",
      '<w:tbl><w:tblPr><w:tblStyle w:val="G"/><w:tblLook w:val="04A0"/></w:tblPr>',
    );
    const styles = '<w:style w:styleId="G"><w:name w:val="Grid"/><w:tblStylePr w:type="firstRow"/></w:style>';
    expect(await textsOf(styled, { styles })).toEqual(labelled);
    expect(await textsOf(table)).toEqual(["Item; Price.", "Rye; 4.20."]);
    expect(
      await textsOf(
        docxTable([
          ["Item", "Small", "Large"],
          ["Rye", "2.10", "4.20"],
        ]),
      ),
    ).toEqual(["Item: Rye; Small: 2.10; Large: 4.20."]);
  });

  test("repeats merged cells, and reads a table in a cell as text", async () => {
    const cell = (text: string, properties = "") => `<w:tc><w:tcPr>${properties}</w:tcPr>${paragraph(text)}</w:tc>`;
    const body = `<w:tbl><w:tr>${cell("Kind")}${cell("Item")}${cell("Small")}${cell("Large")}</w:tr>
      <w:tr>${cell("Bread", '<w:vMerge w:val="restart"/>')}${cell("Rye")}${cell("2")}${cell("4")}</w:tr>
      <w:tr>${cell("", "<w:vMerge/>")}${cell("Spelt")}${cell("sold out", '<w:gridSpan w:val="2"/>')}</w:tr>
      <w:tr>${cell("Cake")}<w:tc>${docxTable([["Cheese", "cake"]])}</w:tc></w:tr></w:tbl>`;
    expect(await textsOf(body)).toEqual([
      "Kind: Bread; Item: Rye; Small: 2; Large: 4.",
      "Kind: Bread; Item: Spelt; Small: sold out; Large: sold out.",
      "Kind: Cake; Item: Cheese cake.",
    ]);
  });
});

import { Parser } from "htmlparser2";
import { type Block, fenceCode, toOneLine } from "../blocks/block.ts";
import { type TableCell, TableRows } from "../blocks/table-rows.ts";

/** Elements whose content is skipped. `head` is absent because all of its text is in elements that are listed here. */
const SKIPPED_ELEMENTS = new Set([
  "title",
  "script",
  "style",
  "template",
  "noscript",
  "nav",
  "svg",
  "iframe",
  "select",
]);
const INLINE_ELEMENTS = new Set([
  ..."a abbr b bdi bdo cite code data del dfn em font i img input ins kbd label mark q s samp small span strong sub".split(
    " ",
  ),
  ..."sup time tt u var wbr".split(" "),
]);
/** Elements whose text is collected as a whole, including the text of nested elements. */
const TEXT_ELEMENTS = new Set(["h1", "h2", "h3", "h4", "h5", "h6", "summary", "pre", "td", "th"]);
/** Deeper `details` elements do not add their summaries to the headings. */
const MAX_DETAILS_DEPTH = 8;
/** The HTML standard's limits for the attributes colspan and rowspan. */
const MAX_COLUMN_SPAN = 1_000;
const MAX_ROW_SPAN = 65_534;

type Attributes = Readonly<Record<string, string>>;
type TextElement = { name: string; depth: number; text: string; columns: number; rows: number };
type Row = { cells: TableCell[]; isHeading: boolean };

/** Splits an HTML document, given in parts, into blocks of readable text. Skips scripts, styles and navigation. */
export function splitHtml(html: Iterable<string>): Block[] {
  const builder = new BlockBuilder();
  const parser = new Parser({
    onopentag: (name, attributes) => builder.open(name, attributes),
    ontext: (text) => builder.text(text),
    onclosetag: (name) => builder.close(name),
  });
  for (const part of html) parser.write(part);
  parser.end();
  builder.endBlock();
  return builder.blocks;
}

/** Builds blocks from a stream of tags and text, because a tree would need 30 times the memory of the document. */
class BlockBuilder {
  readonly blocks: Block[] = [];
  #depth = 0;
  /** Depth of the open element that is skipped; 0 if there is none. */
  #skippedDepth = 0;
  #textElement: TextElement | undefined;
  #blockText = "";
  /** Current heading of each level; an empty string if the document skips the level. */
  #headingByLevel: string[] = [];
  #headings: string[] = [];
  /** Headings outside of the current `details` element, and its summary. */
  #outerHeadings: string[] = [];
  readonly #detailsHeadings: { outer: string[]; byLevel: string[] }[] = [];
  #row: Row = { cells: [], isHeading: true };
  #isInTableHead = false;
  #table = this.#createTable();

  open(name: string, attributes: Attributes): void {
    this.#depth++;
    if (this.#skippedDepth > 0) return;
    if (SKIPPED_ELEMENTS.has(name) || (name === "button" && !this.#isReadButton(attributes))) {
      this.#skippedDepth = this.#depth;
      return;
    }
    if (INLINE_ELEMENTS.has(name)) return;
    if (this.#textElement !== undefined) {
      endLine(this.#textElement);
      return;
    }
    this.endBlock();
    if (TEXT_ELEMENTS.has(name)) {
      const columns = parseSpan(attributes.colspan, MAX_COLUMN_SPAN);
      // 0 means all rows to the end of the group.
      const rows = attributes.rowspan === "0" ? MAX_ROW_SPAN : parseSpan(attributes.rowspan, MAX_ROW_SPAN);
      this.#textElement = { name, depth: this.#depth, text: "", columns, rows };
    } else if (name === "table") this.#startTable();
    else if (name === "thead") this.#isInTableHead = true;
    else if (name === "details") this.#openDetails();
  }

  text(text: string): void {
    if (this.#skippedDepth > 0) return;
    if (this.#textElement === undefined) this.#blockText += text;
    else this.#textElement.text += text;
  }

  close(name: string): void {
    const depth = this.#depth--;
    if (this.#skippedDepth > 0) {
      if (this.#skippedDepth === depth) this.#skippedDepth = 0;
      return;
    }
    if (this.#textElement === undefined) {
      if (INLINE_ELEMENTS.has(name)) return;
      this.endBlock();
      if (name === "tr") this.#endRow();
      else if (name === "thead") this.#isInTableHead = false;
      else if (name === "table") this.#table.end();
      else if (name === "details") this.#closeDetails();
    } else if (this.#textElement.depth === depth) {
      this.#endTextElement(this.#textElement);
      this.#textElement = undefined;
    } else if (!INLINE_ELEMENTS.has(name)) {
      endLine(this.#textElement);
    }
  }

  endBlock(): void {
    this.#add(toOneLine(this.#blockText));
    this.#blockText = "";
  }

  #endTextElement({ name, text, columns, rows }: TextElement): void {
    if (name === "pre") {
      // The look-behinds prevent backtracking on a long run of white space.
      const code = text.replace(/(?<![ \t])[ \t]+$/gm, "").replace(/^\n+|(?<!\n)\n+$/g, "");
      if (code !== "") this.#add(fenceCode(code));
    } else if (name === "td" || name === "th") {
      this.#row.cells.push({ text: toOneLine(text), columns, rows });
      this.#row.isHeading &&= name === "th" || this.#isInTableHead;
    } else if (name === "summary") {
      const summary = toOneLine(text);
      if (summary === "") return;
      const depth = this.#detailsHeadings.length;
      if (depth === 0 || depth > MAX_DETAILS_DEPTH) this.#add(summary);
      else this.#outerHeadings = [...this.#outerHeadings, summary];
      this.#updateHeadings();
    } else {
      const level = Number(name[1]);
      const above = Array.from({ length: level - 1 }, (_, index) => this.#headingByLevel[index] ?? "");
      this.#headingByLevel = [...above, toOneLine(text)];
      this.#updateHeadings();
    }
  }

  /** Returns whether a button shows a text, as in an accordion, and does not only act. */
  #isReadButton(attributes: Attributes): boolean {
    const { name = "" } = this.#textElement ?? {};
    return /^(h\d|summary)$/.test(name) || "aria-expanded" in attributes || "aria-controls" in attributes;
  }

  #openDetails(): void {
    this.#detailsHeadings.push({ outer: this.#outerHeadings, byLevel: this.#headingByLevel });
    if (this.#detailsHeadings.length > MAX_DETAILS_DEPTH) return;
    this.#outerHeadings = this.#headings;
    this.#headingByLevel = [];
  }

  #closeDetails(): void {
    const { outer = [], byLevel = [] } = this.#detailsHeadings.pop() ?? {};
    this.#outerHeadings = outer;
    this.#headingByLevel = byLevel;
    this.#updateHeadings();
  }

  #updateHeadings(): void {
    this.#headings = [...this.#outerHeadings, ...this.#headingByLevel.filter((heading) => heading !== "")];
  }

  #createTable(): TableRows {
    return new TableRows((sentence) => this.#add(sentence));
  }

  #startTable(): void {
    this.#table.end();
    this.#table = this.#createTable();
    this.#isInTableHead = false;
  }

  #endRow(): void {
    const { cells, isHeading } = this.#row;
    this.#row = { cells: [], isHeading: true };
    this.#table.add(cells, isHeading);
  }

  #add(text: string): void {
    if (text !== "") this.blocks.push({ headings: this.#headings, text });
  }
}

function parseSpan(value: string | undefined, max: number): number {
  const span = Number.parseInt(value ?? "", 10);
  return span >= 1 ? Math.min(span, max) : 1;
}

function endLine(element: TextElement): void {
  if (!element.text.endsWith("\n")) element.text += "\n";
}

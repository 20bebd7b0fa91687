import { Parser } from "htmlparser2";
import { type Block, fenceCode } from "./block.ts";

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
  "button",
]);
const INLINE_ELEMENTS = new Set([
  ..."a abbr b bdi bdo cite code data del dfn em font i img input ins kbd label mark q s samp small span strong sub".split(
    " ",
  ),
  ..."sup time tt u var wbr".split(" "),
]);
/** Elements whose text is collected as a whole, including the text of nested elements. */
const TEXT_ELEMENTS = new Set(["h1", "h2", "h3", "h4", "h5", "h6", "pre", "td", "th"]);

type TextElement = { name: string; depth: number; text: string };
type Cell = { text: string; isHeading: boolean };

/** Splits an HTML document, given in parts, into blocks of readable text. Skips scripts, styles and navigation. */
export function splitHtml(html: Iterable<string>): Block[] {
  const builder = new BlockBuilder();
  const parser = new Parser({
    onopentagname: (name) => builder.open(name),
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
  #row: Cell[] = [];
  /** Headings of the current table's columns; undefined before its first row. */
  #columns: string[] | undefined;

  open(name: string): void {
    this.#depth++;
    if (this.#skippedDepth > 0) return;
    if (SKIPPED_ELEMENTS.has(name)) {
      this.#skippedDepth = this.#depth;
      return;
    }
    if (INLINE_ELEMENTS.has(name)) return;
    if (this.#textElement !== undefined) {
      endLine(this.#textElement);
      return;
    }
    this.endBlock();
    if (TEXT_ELEMENTS.has(name)) this.#textElement = { name, depth: this.#depth, text: "" };
    else if (name === "table") this.#columns = undefined;
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

  #endTextElement({ name, text }: TextElement): void {
    if (name === "pre") {
      // The look-behinds prevent backtracking on a long run of white space.
      const code = text.replace(/(?<![ \t])[ \t]+$/gm, "").replace(/^\n+|(?<!\n)\n+$/g, "");
      if (code !== "") this.#add(fenceCode(code));
    } else if (name === "td" || name === "th") {
      this.#row.push({ text: toOneLine(text), isHeading: name === "th" });
    } else {
      const level = Number(name[1]);
      const above = Array.from({ length: level - 1 }, (_, index) => this.#headingByLevel[index] ?? "");
      this.#headingByLevel = [...above, toOneLine(text)];
      this.#headings = this.#headingByLevel.filter((heading) => heading !== "");
    }
  }

  #endRow(): void {
    const cells = this.#row;
    this.#row = [];
    const isFirstRow = this.#columns === undefined;
    const isHeadingRow = isFirstRow && cells.length > 0 && cells.every((cell) => cell.isHeading);
    this.#columns ??= isHeadingRow ? cells.map((cell) => cell.text) : [];
    if (!isHeadingRow) this.#add(formatRow(cells, this.#columns));
  }

  #add(text: string): void {
    if (text !== "") this.blocks.push({ headings: this.#headings, text });
  }
}

function endLine(element: TextElement): void {
  if (!element.text.endsWith("\n")) element.text += "\n";
}

function toOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Formats a table row as a sentence. Each cell follows its column's heading, so that the row is understandable without the table. */
function formatRow(cells: readonly Cell[], columns: readonly string[]): string {
  const parts = cells.flatMap(({ text }, index) => {
    if (text === "") return [];
    const column = columns[index];
    return [column ? `${column}: ${text}` : text];
  });
  if (parts.length === 0) return "";
  const sentence = parts.join("; ");
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

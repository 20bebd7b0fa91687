import { type DefaultTreeAdapterTypes, parse } from "parse5";
import type { Block } from "./block.ts";
import { isElement, isText, lineText, rawText, tableRows } from "./html-text.ts";

type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.ChildNode;

const SKIPPED = new Set([
  "head",
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
const INLINE = new Set([
  ..."a abbr b bdi bdo cite code data del dfn em font i img input ins kbd label mark q s samp small span strong sub".split(
    " ",
  ),
  ..."sup time tt u var wbr".split(" "),
]);

/** The readable text of an HTML document, block by block; scripts, styles and navigation are left out. */
export function htmlBlocks(html: string): Block[] {
  const reader = new Reader();
  // A list of what is still to do and not recursion: documents may be nested deeper than the stack.
  const pending: (Node | "end of block")[] = parse(html).childNodes.toReversed();
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node === "end of block") reader.endBlock();
    else if (isText(node)) reader.line += node.value;
    else if (isElement(node) && !SKIPPED.has(node.tagName)) {
      if (INLINE.has(node.tagName)) pending.push(...node.childNodes.toReversed());
      else if (!reader.readWhole(node)) pending.push("end of block", ...node.childNodes.toReversed());
    }
  }
  reader.endBlock();
  return reader.blocks;
}

class Reader {
  readonly blocks: Block[] = [];
  /** Text that belongs together so far. */
  line = "";
  /** By level; empty where a level was left out. */
  #headings: string[] = [];

  endBlock(): void {
    this.#add(this.line.replace(/\s+/g, " ").trim());
    this.line = "";
  }

  /** Begins a block with an element; true when there is nothing more to read in it. */
  readWhole(element: Element): boolean {
    this.endBlock();
    const { tagName } = element;
    const level = Number(/^h([1-6])$/.exec(tagName)?.[1] ?? 0);
    if (level > 0) {
      const above = Array.from({ length: level - 1 }, (_, index) => this.#headings[index] ?? "");
      this.#headings = [...above, lineText(element)];
      return true;
    }
    if (tagName === "pre") {
      const code = rawText(element)
        .replace(/[ \t]+$/gm, "")
        .replace(/^\n+|\n+$/g, "");
      // Fenced, so that whoever reads the passage sees where code begins and ends, and does not take it for sentences.
      if (code !== "") this.#add(`\`\`\`\n${code}\n\`\`\``);
      return true;
    }
    if (tagName !== "table") return false;
    for (const row of tableRows(element)) this.#add(row);
    return true;
  }

  #add(text: string): void {
    if (text !== "") this.blocks.push({ headings: this.#headings.filter((heading) => heading !== ""), text });
  }
}

import type { DefaultTreeAdapterTypes } from "parse5";

type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.ChildNode;

export function isText(node: Node): node is DefaultTreeAdapterTypes.TextNode {
  return node.nodeName === "#text";
}

export function isElement(node: Node): node is Element {
  return "tagName" in node;
}

/** All text inside an element as it stands. */
export function rawText(element: Element): string {
  let text = "";
  const pending: Node[] = element.childNodes.toReversed();
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (isText(node)) text += node.value;
    else if (isElement(node)) pending.push(...node.childNodes.toReversed());
  }
  return text;
}

/** All text inside an element on one line. */
export function lineText(element: Element): string {
  return rawText(element).replace(/\s+/g, " ").trim();
}

/** A table's rows as sentences of their own: each cell after the heading of its column, so that a row makes sense without the table. */
export function tableRows(table: Element): string[] {
  const rows = descendants(table, "tr").map((row) => row.childNodes.filter(isElement));
  const [first = []] = rows;
  const hasHeadings = first.length > 0 && first.every((cell) => cell.tagName === "th");
  const headings = hasHeadings ? first.map(lineText) : [];
  return rows.slice(hasHeadings ? 1 : 0).map((cells) => sentence(cells.map(lineText), headings));
}

function sentence(cells: readonly string[], headings: readonly string[]): string {
  const parts = cells.flatMap((cell, column) => {
    if (cell === "") return [];
    const heading = headings[column];
    return [heading ? `${heading}: ${cell}` : cell];
  });
  if (parts.length === 0) return "";
  const text = parts.join("; ");
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function descendants(root: Element, tagName: string): Element[] {
  const found: Element[] = [];
  const pending: Node[] = root.childNodes.toReversed();
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (!isElement(node)) continue;
    if (node.tagName === tagName) found.push(node);
    // A table inside a cell is part of that cell.
    else pending.push(...node.childNodes.toReversed());
  }
  return found;
}

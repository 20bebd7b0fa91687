import { type Attributes, createElement } from "./dom.ts";
import { parseBlocks, type Tag, type Tree } from "./markdown.ts";

/**
 * Maps each rendered node to a string that identifies its content:
 * - for the box of renderMarkdown, its Markdown;
 * - for an element in the box, its tag and value;
 * - for a text node, the word `undefined` (it has no tag) and its text.
 */
const rendered = new WeakMap<Node, string>();

/**
 * Shows Markdown in an element. Relative links are relative to `base`, an absolute URL; without `base`, they are shown as text. `codeLabel`
 * is the accessible name of each block of code. Unchanged elements and texts keep their nodes, so that a text selection in them survives.
 */
export function renderMarkdown(box: Node, text: string, base?: string, codeLabel = "Code"): void {
  if (rendered.get(box) !== text) {
    rendered.set(box, text);
    updateChildren(box, parseBlocks(text, base), codeLabel);
  }
}

function updateChildren(parent: Node, trees: readonly (Tree | string)[], codeLabel: string): void {
  for (const [at, tree] of trees.entries()) {
    const [tag, children, value = ""] = typeof tree === "string" ? ([undefined, [], tree] as const) : tree;
    const key = tag + value;
    // `item` returns null after the last child, although its type is Node.
    let node: Node = parent.childNodes.item(at);
    if (rendered.get(node) !== key) {
      // The node that was at this position moves behind the new one. The loop below removes the surplus nodes.
      node = parent.insertBefore(tag ? createElement(tag, attributesOf(tag, value, codeLabel)) : new Text(value), node);
      rendered.set(node, key);
    }
    updateChildren(node, children, codeLabel);
  }
  while (parent.childNodes[trees.length]) {
    parent.lastChild?.remove();
  }
}

function attributesOf(tag: Tag, value: string, codeLabel: string): Attributes {
  switch (tag) {
    case "a":
      // The site does not endorse links that a model writes. Calls and emails need no new window.
      return {
        href: value,
        rel: "noopener noreferrer nofollow ugc",
        ...(value.startsWith("http") && { target: "_blank" }),
      };
    case "ol":
      return { start: value };
    case "div":
      // The keyboard can scroll a focused element.
      return { class: "table", role: "group", "aria-label": value, tabindex: "0" };
    case "pre":
      return { role: "group", "aria-label": codeLabel, tabindex: "0", dir: "ltr" };
    case "code":
      // Between words of a right-to-left language, the browser would reorder the parts of the code.
      return { dir: "ltr" };
    case "th":
    case "td":
      // A strict content security policy blocks style attributes, but not this attribute.
      return { ...(tag === "th" && { scope: "col" }), ...(value && { align: value }) };
    default:
      return {};
  }
}

const BLOCKS = "p, h3, blockquote, li, pre, th, td";

/** Returns the texts of the paragraphs, list items, table cells and lines in a box of renderMarkdown, in their order. */
export function readLines(box: Node): string[] {
  return toText(box).split("\n").filter(Boolean);
}

function toText(node: Node): string {
  const text = node.hasChildNodes() ? [...node.childNodes].map(toText).join("") : (node.textContent ?? "");
  return node instanceof Element && node.matches(BLOCKS) ? `\n${text}\n` : text;
}

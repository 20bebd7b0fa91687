import { createElement } from "../shared/dom.ts";
import { parseBlocks, type Tree } from "../shared/markdown.ts";

/**
 * Maps each rendered node to a string that identifies its content:
 * - for the box of renderMarkdown, its Markdown;
 * - for an element in the box, its tag and value;
 * - for a text node, the word `undefined` (it has no tag) and its text.
 */
const rendered = new WeakMap<Node, string>();

/** Shows Markdown in an element. Unchanged elements and texts keep their nodes, so that a text selection in them survives. */
export function renderMarkdown(box: Node, text: string): void {
  if (rendered.get(box) !== text) {
    rendered.set(box, text);
    updateChildren(box, parseBlocks(text));
  }
}

function updateChildren(parent: Node, trees: readonly (Tree | string)[]): void {
  for (const [at, tree] of trees.entries()) {
    const [tag, children, value = ""] = typeof tree === "string" ? ([undefined, [], tree] as const) : tree;
    const key = tag + value;
    // `item` returns null after the last child, although its type is Node.
    let node: Node = parent.childNodes.item(at);
    if (rendered.get(node) !== key) {
      const attributes: Partial<Record<string, Record<string, string>>> = {
        // The site does not endorse links that a model writes.
        a: { href: value, target: "_blank", rel: "noopener noreferrer nofollow ugc" },
        ol: { start: value },
      };
      // The node that was at this position moves behind the new one. The loop below removes the surplus nodes.
      node = parent.insertBefore(tag ? createElement(tag, attributes[tag]) : new Text(value), node);
      rendered.set(node, key);
    }
    updateChildren(node, children);
  }
  while (parent.childNodes[trees.length]) {
    parent.lastChild?.remove();
  }
}

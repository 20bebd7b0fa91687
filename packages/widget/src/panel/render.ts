import { el } from "../shared/dom.ts";
import { blocks, parseBlock, type Tree } from "../shared/markdown.ts";

const shown = new WeakMap<Element, readonly string[]>();

/** Shows Markdown in an element; blocks that are as they were keep their nodes, so a selection in them survives. */
export function showMarkdown(box: Element, text: string): void {
  const before = shown.get(box) ?? [];
  const now = blocks(text);
  shown.set(box, now);
  for (const [at, source] of now.entries()) {
    if (source !== before[at]) {
      const node = toElement(parseBlock(source));
      const old = box.children[at];
      old ? old.replaceWith(node) : box.append(node);
    }
  }
  while (box.children.length > now.length) {
    box.lastElementChild?.remove();
  }
}

function toElement([tag, children, value]: Tree): HTMLElement {
  const attributes = {
    // Nobody's site vouches for what a model links to.
    a: { href: value ?? "", target: "_blank", rel: "noopener noreferrer nofollow ugc" },
    ol: { start: value ?? "1" },
  }[tag as "a" | "ol"];
  return el(tag, attributes, ...children.map((child) => (typeof child === "string" ? child : toElement(child))));
}

import { createElement } from "../shared/dom.ts";
import { parseBlock, splitBlocks, type Tree } from "../shared/markdown.ts";

const renderedBlocks = new WeakMap<Element, readonly string[]>();

/** Shows Markdown in an element. Unchanged blocks keep their nodes, so that a text selection in them survives. */
export function renderMarkdown(box: Element, text: string): void {
  const before = renderedBlocks.get(box) ?? [];
  const blocks = splitBlocks(text);
  renderedBlocks.set(box, blocks);
  for (const [at, source] of blocks.entries()) {
    if (source !== before[at]) {
      const node = toElement(parseBlock(source));
      const old = box.children[at];
      old ? old.replaceWith(node) : box.append(node);
    }
  }
  while (box.children.length > blocks.length) {
    box.lastElementChild?.remove();
  }
}

function toElement([tag, children, value]: Tree): HTMLElement {
  const attributes: Partial<Record<string, Record<string, string>>> = {
    // The site does not endorse links that a model writes.
    a: { href: value ?? "", target: "_blank", rel: "noopener noreferrer nofollow ugc" },
    ol: { start: value ?? "1" },
  };
  return createElement(
    tag,
    attributes[tag],
    ...children.map((child) => (typeof child === "string" ? child : toElement(child))),
  );
}

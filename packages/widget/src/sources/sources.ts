import type { Entry, Source } from "../panel/session-store.ts";
import { fillPlaceholders } from "../panel/words.ts";
import { addStyles, createElement } from "../shared/dom.ts";
import type { SOURCES_ENGLISH } from "./english.ts";
import css from "./sources.css";

/** Shows the sources of a reply in its element, which has the reply's text already: footnotes in the text, and a list below it. */
export type ShowSources = (element: HTMLElement, entry: Entry) => void;

type SourcesWords = Readonly<Record<keyof typeof SOURCES_ENGLISH, string>>;

/** Marks in code and links are no footnotes. */
const NO_FOOTNOTES = "a, code, pre, .footnote";

export function createSources(words: SourcesWords, root: ShadowRoot): ShowSources {
  addStyles(root, css);
  /** The texts that have their footnotes, by the elements of their replies. */
  const shownTexts = new WeakMap<HTMLElement, string>();
  return (element, { text, sources }) => {
    const bubble = element.querySelector<HTMLElement>(".bubble");
    if (!sources || !bubble || shownTexts.get(element) === text) {
      return;
    }
    shownTexts.set(element, text);
    const list = createList(sources, words);
    element.querySelector(".sources")?.remove();
    bubble.after(list);
    addFootnotes(bubble, (number) => {
      const source = sources.find((each) => each.number === number);
      return source && createFootnote(source, list, words);
    });
  };
}

function createList(sources: readonly Source[], words: SourcesWords): HTMLElement {
  const items = sources.map(({ number, title, url }) => {
    const name = isWebUrl(url)
      ? createElement("a", { href: url, dir: "auto", target: "_blank", rel: "noopener noreferrer" }, title)
      : createElement("bdi", {}, title);
    return createElement("li", { value: String(number), tabindex: "-1" }, name);
  });
  return createElement(
    "div",
    { class: "sources", role: "group", "aria-label": words.sources },
    createElement("p", { "aria-hidden": "true" }, words.sources),
    createElement("ol", {}, ...items),
  );
}

/** A link to the document or, if it has no URL, a button that moves the focus to its title in the list. */
function createFootnote({ number, title, url }: Source, list: HTMLElement, words: SourcesWords): HTMLElement {
  const attributes = {
    class: "footnote",
    "aria-label": fillPlaceholders(words.source, { n: number, title }),
    title,
  };
  const mark = `[${number}]`;
  if (isWebUrl(url)) {
    return createElement("a", { ...attributes, href: url, target: "_blank", rel: "noopener noreferrer" }, mark);
  }
  const focusTitle = () => list.querySelector<HTMLElement>(`li[value="${number}"]`)?.focus();
  return createElement("button", { ...attributes, type: "button", onclick: focusTitle }, mark);
}

function isWebUrl(url: string | undefined): url is string {
  return /^https?:/.test(url ?? "");
}

/** Replaces the marks of footnotes, such as `[1]`, in the texts below a node. */
function addFootnotes(node: Node, createMark: (number: number) => HTMLElement | undefined): void {
  for (const child of [...node.childNodes]) {
    if (child instanceof Text) {
      // Each second part is a number.
      const parts = child.data.split(/\[(\d+)\]/);
      const nodes = parts.map((part, at) => (at % 2 ? (createMark(Number(part)) ?? `[${part}]`) : part));
      if (nodes.some((each) => typeof each !== "string")) {
        child.replaceWith(...nodes);
      }
    } else if (child instanceof Element && !child.matches(NO_FOOTNOTES)) {
      addFootnotes(child, createMark);
    }
  }
}

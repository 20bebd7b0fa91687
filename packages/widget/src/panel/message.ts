import { createElement } from "../shared/dom.ts";
import { readLines, renderMarkdown } from "../shared/render-markdown.ts";
import type { Notices } from "./notices.ts";
import type { Entry } from "./session-store.ts";
import { fillPlaceholders, type Words } from "./words.ts";

/** The entry that is still changing: a reply being received, or a message that waits at the gate. */
export interface ActiveEntry {
  readonly entry: Entry;
  /** Whether the service has sent nothing for some seconds. */
  readonly isThinking?: boolean;
}

export interface MessageView {
  readonly element: HTMLElement;
  /** Shows the entry. `active` is set only if this entry is the active one. */
  update(entry: Entry, active: ActiveEntry | undefined): void;
  /** Returns the lines of the shown text. */
  readLines(): string[];
}

/** What a message needs of the panel. */
export interface MessageContext {
  readonly botName: string;
  readonly words: Words;
  readonly selectNotice: Notices["select"];
  retry(entry: Entry): void;
}

export function createMessageView(role: Entry["role"], context: MessageContext): MessageView {
  const { botName, words, selectNotice } = context;
  const isVisitor = role === "user";
  let entry: Entry;
  // dir="auto" is on the text and not on the bubble, whose alignment and corner depend on the panel's direction.
  const text = createElement("div", { dir: "auto" });
  const bubble = createElement("div", { class: "bubble" }, text);
  const notice = createElement("span");
  const retry = createElement(
    "button",
    { type: "button", class: "link", onclick: () => context.retry(entry) },
    words.retry,
  );
  const requestId = createElement("small", { dir: "ltr" });
  const footer = createElement("p", { class: "notice" }, notice, " ", retry, requestId);
  const thinking = createElement("span", {}, words.thinking);
  const typing = createElement(
    "div",
    { class: "typing" },
    createElement("span", { class: "sr" }, fillPlaceholders(words.typing, { name: botName })),
    createElement("span", { class: "dots" }, createElement("i"), createElement("i"), createElement("i")),
    thinking,
  );
  const element = createArticle(role, isVisitor ? words.you : botName, bubble, ...(isVisitor ? [] : [typing]), footer);
  return {
    element,
    readLines: () => readLines(text),
    update(newEntry, active) {
      entry = newEntry;
      if (isVisitor) {
        text.textContent = entry.text;
      } else {
        renderMarkdown(text, entry.text, document.baseURI, words.code);
      }
      bubble.hidden = !entry.text;
      typing.hidden = !(active && (bubble.hidden || active.isThinking));
      thinking.hidden = !active?.isThinking;
      const failure = entry.failed && !active ? selectNotice(entry.failed) : undefined;
      notice.textContent = failure?.text ?? "";
      footer.hidden = !notice.textContent;
      requestId.textContent = failure && entry.failed !== "stopped" && entry.requestId ? `ID ${entry.requestId}` : "";
      retry.hidden = !failure?.canRetry;
    },
  };
}

/** Creates a message's element. It can get the focus from a script. */
export function createArticle(role: Entry["role"], author: string, ...content: readonly Node[]): HTMLElement {
  return createElement(
    "article",
    { class: `message ${role}`, "aria-label": author, tabindex: "-1" },
    createElement("span", { class: "sr" }, `${author}: `),
    ...content,
  );
}

import { createElement, createIcon } from "../shared/dom.ts";
import { renderMarkdown } from "../shared/render-markdown.ts";
import type { Entry } from "./session-store.ts";
import { fillPlaceholders, selectNotice, type Words } from "./words.ts";

const THUMB_ICON =
  "M7 10v10H4V10zM7 11l4-7c1.6 0 2.5 1.2 2.2 2.7L12.5 10H18c1.4 0 2.3 1.2 2 2.5l-1.3 5.6c-.3 1.1-1.2 1.9-2.4 1.9H7";

export interface MessageActions {
  /** Stores a rating; `""` removes it. */
  rate(entry: Entry, rating: "up" | "down" | ""): void;
  retry(entry: Entry): void;
}

/** The entry that is still changing: a reply being received, or a message that will be sent again. */
export interface ActiveEntry {
  readonly entry: Entry;
  /** Seconds until the message is sent again. */
  readonly waitSeconds?: number;
  /** Whether the reply has had no text for some seconds. */
  readonly isThinking?: boolean;
}

export interface MessageView {
  readonly element: HTMLElement;
  /** Shows the entry. `active` is set only if this entry is the active one. */
  update(entry: Entry, active?: ActiveEntry): void;
}

export function createMessageView(
  role: Entry["role"],
  botName: string,
  words: Words,
  actions: MessageActions,
): MessageView {
  const isVisitor = role === "user";
  let entry: Entry;
  // dir="auto" is on the text and not on the bubble, whose alignment and corner depend on the panel's direction.
  const text = createElement("div", { dir: "auto" });
  const bubble = createElement("div", { class: "bubble" }, text);
  const notice = createElement("span");
  const retry = createElement(
    "button",
    { type: "button", class: "link", onclick: () => actions.retry(entry) },
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
  const thumbs = (["up", "down"] as const).map((value) =>
    createElement(
      "button",
      {
        type: "button",
        class: `icon thumb ${value}`,
        "aria-label": words[value],
        title: words[value],
        onclick: () => actions.rate(entry, entry.rating === value ? "" : value),
      },
      createIcon(THUMB_ICON),
    ),
  );
  const rating = createElement("div", { class: "rating" }, ...thumbs);
  const author = createElement("span", { class: "sr" }, `${isVisitor ? words.you : botName}: `);
  return {
    element: createElement(
      "div",
      { class: `message ${role}` },
      author,
      bubble,
      ...(isVisitor ? [] : [typing, rating]),
      footer,
    ),
    update(newEntry, active) {
      entry = newEntry;
      const waitSeconds = active?.waitSeconds;
      const isReplying = active !== undefined && !waitSeconds;
      if (isVisitor) {
        text.textContent = entry.text;
      } else {
        renderMarkdown(text, entry.text, document.baseURI);
      }
      bubble.hidden = !entry.text;
      typing.hidden = !(isReplying && bubble.hidden);
      thinking.hidden = !active?.isThinking;
      rating.hidden = isReplying || entry.messageId === undefined || entry.failed !== undefined;
      for (const [at, thumb] of thumbs.entries()) {
        thumb.setAttribute("aria-pressed", String(entry.rating === (at ? "down" : "up")));
      }
      const failure = entry.failed && !isReplying ? selectNotice(entry.failed) : undefined;
      notice.textContent = waitSeconds
        ? fillPlaceholders(words.wait, { n: waitSeconds })
        : failure
          ? words[failure.key]
          : "";
      footer.hidden = !notice.textContent;
      requestId.textContent = failure && failure.key !== "stopped" && entry.requestId ? `ID ${entry.requestId}` : "";
      retry.hidden = waitSeconds !== undefined || !failure?.canRetry;
    },
  };
}

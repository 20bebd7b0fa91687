import { createElement, createIcon } from "../shared/dom.ts";
import { renderMarkdown } from "../shared/render-markdown.ts";
import type { BotConfig } from "../shared/types.ts";
import { type ActiveEntry, createMessageView, type MessageActions, type MessageView } from "./message.ts";
import type { Entry } from "./session-store.ts";
import type { Words } from "./words.ts";

export interface MessageLog {
  readonly elements: readonly HTMLElement[];
  /** Shows the entries, and after them `active`, the entry that is still changing. Keeps the elements of entries that are already shown. */
  show(entries: readonly Entry[], active?: ActiveEntry): void;
  /** Returns the shown text of a message, without its markup. */
  textOf(id: string): string;
  scrollToEnd(): void;
  /** Restores the scroll position, which is lost when the page removes the widget and inserts it again. */
  restoreScroll(): void;
}

/** The distance from the end, in CSS pixels, within which new text scrolls the list to the end. */
const NEAR_END_PX = 48;

/** Creates the list of the welcome message and the entries. Shows the quick replies while there is no entry. */
export function createMessageLog(
  bot: BotConfig,
  words: Words,
  actions: MessageActions & { send(text: string): void },
): MessageLog {
  const views = new Map<string, MessageView>();
  const welcome = createElement("div", { dir: "auto" });
  renderMarkdown(welcome, bot.welcome_message, document.baseURI);
  const messages = createElement("div", { class: "messages" });
  const quickReplies = createElement(
    "div",
    { class: "chips", role: "group", "aria-label": words.suggestions },
    ...bot.quick_replies.map((text) =>
      createElement("button", { type: "button", class: "chip", dir: "auto", onclick: () => actions.send(text) }, text),
    ),
  );
  // aria-live is off. Otherwise a screen reader would announce every token. The panel's status announces each reply once.
  const scroller = createElement(
    "div",
    { class: "log", role: "log", "aria-live": "off", "aria-label": words.log, tabindex: "0" },
    bot.welcome_message &&
      createElement("div", { class: "message assistant" }, createElement("div", { class: "bubble" }, welcome)),
    messages,
    quickReplies,
  );
  let isAtEnd = true;
  let lastScrollTop = 0;
  const latestButton = createElement(
    "button",
    {
      type: "button",
      class: "latest",
      "aria-label": words.latest,
      title: words.latest,
      onclick: () => scrollToEnd(),
    },
    createIcon("M12 5v14M6 13l6 6 6-6"),
  );
  const scrollToEnd = () => {
    isAtEnd = true;
    followEnd();
  };
  const followEnd = () => {
    if (isAtEnd) {
      scroller.scrollTop = scroller.scrollHeight;
    }
    latestButton.hidden = isAtEnd;
  };
  scroller.addEventListener("scroll", () => {
    lastScrollTop = scroller.scrollTop;
    isAtEnd = scroller.scrollHeight - lastScrollTop - scroller.clientHeight < NEAR_END_PX;
    latestButton.hidden = isAtEnd;
  });
  new ResizeObserver(followEnd).observe(scroller);

  return {
    elements: [scroller, latestButton],
    show(entries, active) {
      const allEntries = active ? [...entries.filter(({ id }) => id !== active.entry.id), active.entry] : entries;
      for (const [id, { element }] of views) {
        if (!allEntries.some((entry) => entry.id === id)) {
          element.remove();
          views.delete(id);
        }
      }
      for (const [at, entry] of allEntries.entries()) {
        const view = views.get(entry.id) ?? createMessageView(entry.role, bot.name, words, actions);
        views.set(entry.id, view);
        view.update(entry, active?.entry.id === entry.id ? active : undefined);
        if (messages.children[at] !== view.element) {
          messages.insertBefore(view.element, messages.children[at] ?? null);
        }
      }
      quickReplies.hidden = allEntries.length > 0 || bot.quick_replies.length === 0;
      followEnd();
    },
    textOf: (id) => views.get(id)?.element.querySelector(".bubble")?.textContent ?? "",
    scrollToEnd,
    restoreScroll() {
      scroller.scrollTop = lastScrollTop;
    },
  };
}

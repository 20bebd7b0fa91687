import { el, icon } from "../shared/dom.ts";
import type { BotConfig } from "../shared/types.ts";
import { type MessageActions, type MessageView, messageView } from "./message.ts";
import { showMarkdown } from "./render.ts";
import type { Entry } from "./store.ts";
import type { Words } from "./words.ts";

/** The answer on its way, or a message waiting to be sent again. */
export interface Live {
  readonly entry: Entry;
  readonly waitS?: number;
}

/** The conversation on the screen. */
export interface Log {
  readonly elements: readonly HTMLElement[];
  /** Shows these messages, and the one on its way last. Reuses what is shown already. */
  show(entries: readonly Entry[], live?: Live): void;
  /** The text of a message as it is shown, without its markup. */
  textOf(id: string): string;
  toEnd(): void;
  /** Goes back to where the reader was, after the page took the widget out and back in. */
  restore(): void;
}

/** How far from the end, in CSS pixels, a reader still counts as reading the end. */
const NEAR_PX = 48;

/** Makes the log: the welcome message, the messages, and the suggestions as long as nothing was asked. */
export function createLog(bot: BotConfig, words: Words, actions: MessageActions & { ask(text: string): void }): Log {
  const views = new Map<string, MessageView>();
  const welcome = el("div", { dir: "auto" });
  showMarkdown(welcome, bot.welcome_message);
  const messages = el("div", { class: "messages" });
  const chips = el(
    "div",
    { class: "chips", role: "group", "aria-label": words.suggestions },
    ...bot.quick_replies.map((text) =>
      el("button", { type: "button", class: "chip", dir: "auto", onclick: () => actions.ask(text) }, text),
    ),
  );
  // Announcing is not left to the log: it would read every token. A status of its own reads each answer once.
  const scroller = el(
    "div",
    { class: "log", role: "log", "aria-live": "off", "aria-label": words.log, tabindex: "0" },
    bot.welcome_message && el("div", { class: "message assistant" }, el("div", { class: "bubble" }, welcome)),
    messages,
    chips,
  );
  let atEnd = true;
  let top = 0;
  const latest = el(
    "button",
    {
      type: "button",
      class: "latest",
      "aria-label": words.latest,
      title: words.latest,
      hidden: "",
      onclick: () => toEnd(),
    },
    icon("M12 5v14M6 13l6 6 6-6"),
  );
  const toEnd = () => {
    atEnd = true;
    settle();
  };
  const settle = () => {
    if (atEnd) {
      scroller.scrollTop = scroller.scrollHeight;
    }
    latest.hidden = atEnd;
  };
  scroller.addEventListener("scroll", () => {
    top = scroller.scrollTop;
    atEnd = scroller.scrollHeight - top - scroller.clientHeight < NEAR_PX;
    latest.hidden = atEnd;
  });
  new ResizeObserver(settle).observe(scroller);

  return {
    elements: [scroller, latest],
    show(entries, live) {
      const all = live ? [...entries.filter(({ id }) => id !== live.entry.id), live.entry] : entries;
      for (const [id, { element }] of views) {
        if (!all.some((entry) => entry.id === id)) {
          element.remove();
          views.delete(id);
        }
      }
      for (const [at, entry] of all.entries()) {
        const view = views.get(entry.id) ?? messageView(entry.role, bot.name, words, actions);
        views.set(entry.id, view);
        view.update(entry, live?.entry.id === entry.id ? { live: !live.waitS, waitS: live.waitS ?? 0 } : {});
        if (messages.children[at] !== view.element) {
          messages.insertBefore(view.element, messages.children[at] ?? null);
        }
      }
      chips.hidden = all.length > 0 || bot.quick_replies.length === 0;
      settle();
    },
    textOf: (id) => views.get(id)?.element.querySelector(".bubble")?.textContent ?? "",
    toEnd,
    restore() {
      scroller.scrollTop = top;
    },
  };
}

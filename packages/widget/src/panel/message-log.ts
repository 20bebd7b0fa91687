import { createElement, createIcon } from "../shared/dom.ts";
import { renderMarkdown } from "../shared/render-markdown.ts";
import type { BotConfig } from "../shared/types.ts";
import type { ShownMessage, Tools } from "../tools/main.ts";
import { type ActiveEntry, createArticle, createMessageView, type MessageView } from "./message.ts";
import type { Notices } from "./notices.ts";
import type { Entry } from "./session-store.ts";
import type { Words } from "./words.ts";

export interface MessageLog {
  readonly elements: readonly HTMLElement[];
  /**
   * Shows the entries, and after them `active`, the entry that is still changing. Keeps the elements of entries that are already shown. If
   * `canUndo` is true, offers to return to the earlier session.
   */
  show(entries: readonly Entry[], active: ActiveEntry | undefined, canUndo: boolean): void;
  /** Returns the lines of a message's shown text. */
  linesOf(id: string): string[];
  scrollToEnd(): void;
  /** Restores the scroll position, which is lost when the page removes the widget and inserts it again. */
  restoreScroll(): void;
}

export interface LogActions {
  send(text: string): void;
  retry(entry: Entry): void;
  undo(): void;
  /**
   * Returns the code that complete replies need. Returns undefined while it is loading; `show` must be called when it has loaded. `isIdle`: no reply
   * is growing.
   */
  getTools(isIdle: boolean): Tools | undefined;
  readonly selectNotice: Notices["select"];
}

/** The distance from the end, in CSS pixels, within which new text scrolls the list to the end. */
const NEAR_END_PX = 48;
/** The distance between the list's upper edge and the question that stays in view, in CSS pixels. */
const MARGIN_PX = 12;

/** Creates the list of the welcome message and the entries. Shows the quick replies while there is no entry. */
export function createMessageLog(bot: BotConfig, words: Words, actions: LogActions): MessageLog {
  const views = new Map<string, MessageView>();
  const context = { ...actions, botName: bot.name, words };
  const welcome = createElement("div", { dir: "auto" });
  renderMarkdown(welcome, bot.welcome_message, document.baseURI, words.code);
  const messages = createElement("div", { class: "messages" });
  const quickReplies = createElement(
    "div",
    { class: "chips", role: "group", "aria-label": words.suggestions },
    ...bot.quick_replies.map((text) =>
      createElement("button", { type: "button", class: "chip", dir: "auto", onclick: () => actions.send(text) }, text),
    ),
  );
  const undoButton = createElement("button", { type: "button", class: "link", onclick: actions.undo }, words.undo);
  // aria-live is off. Otherwise a screen reader would announce every token. The panel announces each reply once.
  const scroller = createElement(
    "div",
    { class: "log", role: "log", "aria-live": "off", "aria-label": words.log, tabindex: "0" },
    bot.welcome_message && createArticle("assistant", bot.name, createElement("div", { class: "bubble" }, welcome)),
    messages,
    quickReplies,
    undoButton,
  );
  /** Whether new text scrolls the list. */
  let isFollowing = true;
  /** The newest message. The text of its reply does not scroll it out of view, until the reader scrolls. */
  let question: HTMLElement | undefined;
  let lastReplyId = "";
  let tools: Tools | undefined;
  let lastScrollTop = 0;
  /** Where `follow` has scrolled to. Another position is the reader's. */
  let followedTop = 0;
  const latestButton = createElement(
    "button",
    {
      type: "button",
      class: "latest",
      "aria-label": words.latest,
      title: words.latest,
      onclick() {
        scrollToEnd();
        // The button is hidden now, so it cannot keep the focus.
        (messages.lastElementChild as HTMLElement | null)?.focus({ preventScroll: true });
      },
    },
    createIcon("M12 5v14M6 13l6 6 6-6"),
  );
  const distanceToEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
  const scrollToEnd = () => {
    isFollowing = true;
    question = undefined;
    follow();
  };
  const follow = () => {
    if (isFollowing) {
      const toQuestion = question?.isConnected
        ? question.getBoundingClientRect().top - scroller.getBoundingClientRect().top - MARGIN_PX
        : Number.POSITIVE_INFINITY;
      scroller.scrollTop += Math.min(distanceToEnd(), toQuestion);
      followedTop = scroller.scrollTop;
    }
    latestButton.hidden = distanceToEnd() < NEAR_END_PX;
  };
  scroller.addEventListener("scroll", () => {
    lastScrollTop = scroller.scrollTop;
    const isNearEnd = distanceToEnd() < NEAR_END_PX;
    if (lastScrollTop !== followedTop) {
      question = undefined;
      isFollowing = isNearEnd;
    }
    latestButton.hidden = isNearEnd;
  });
  new ResizeObserver(follow).observe(scroller);

  return {
    elements: [scroller, latestButton],
    show(entries, active, canUndo) {
      const allEntries = active ? [...entries.filter(({ id }) => id !== active.entry.id), active.entry] : entries;
      for (const [id, { element }] of views) {
        if (!allEntries.some((entry) => entry.id === id)) {
          element.remove();
          views.delete(id);
        }
      }
      const shown = allEntries.map((entry, at): ShownMessage => {
        const view = views.get(entry.id) ?? createMessageView(entry.role, context);
        const isActive = entry === active?.entry;
        views.set(entry.id, view);
        view.update(entry, isActive ? active : undefined);
        if (messages.children[at] !== view.element) {
          messages.insertBefore(view.element, messages.children[at] ?? null);
        }
        return { entry, element: view.element, isActive };
      });
      if (
        shown.some(
          ({ entry, isActive }) =>
            bot.handoff || (entry.role === "assistant" && !isActive && (!entry.failed || entry.sources)),
        )
      ) {
        tools = actions.getTools(!active);
      }
      tools?.update(shown);
      if (active && active.entry.id !== lastReplyId) {
        lastReplyId = active.entry.id;
        question = views.get(lastReplyId.replace(":a", ""))?.element;
      }
      quickReplies.hidden = allEntries.length > 0 || bot.quick_replies.length === 0;
      undoButton.hidden = !canUndo;
      follow();
    },
    linesOf: (id) => views.get(id)?.readLines() ?? [],
    scrollToEnd,
    restoreScroll() {
      scroller.scrollTop = lastScrollTop;
    },
  };
}

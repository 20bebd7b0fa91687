// The verified visitor's past conversations. The panel loads this file when the visitor opens them for the first time.

import { addWords } from "../panel/chunk.ts";
import type { Entry } from "../panel/session-store.ts";
import { fillPlaceholders } from "../panel/words.ts";
import { anySignal } from "../shared/any-signal.ts";
import { addStyles, createElement, createIcon } from "../shared/dom.ts";
import { pause } from "../shared/pause.ts";
import { showAgent } from "../shared/show-agent.ts";
import { createSources, type ShowSources } from "../sources/sources.ts";
import { selectLocale } from "../tools/times.ts";
import { createHistoryApi, type HistoryApi, isRunning, type PastMessage, type PastSession, toEntries } from "./api.ts";
import type { HistoryContext, HistoryWords } from "./context.ts";
import { HISTORY_ENGLISH } from "./english.ts";
import css from "./history.css";
import { createPager } from "./pager.ts";

const BACK_ICON = "M15 5l-7 7 7 7";
/** The service stores a reply when it ends. */
const REREAD_AFTER_MS = 5_000;
/** Takes longer than the longest reply. */
const MAX_REREADS = 150;

export interface History {
  /** Shows the past conversations in place of the chat. Does nothing if they are shown, or if the page has given no token. */
  open(): void;
  /** Shows the chat again, and forgets what was loaded. */
  close(): void;
}

/** What each view needs. */
interface Parts {
  readonly context: HistoryContext;
  readonly words: HistoryWords;
  readonly api: HistoryApi;
  readonly showSources: ShowSources;
  /** Returns an element with a time in the visitor's language and time zone. */
  createTime(iso: string): HTMLElement;
}

export async function mountHistory(context: HistoryContext): Promise<History> {
  const { root, lang, visitor } = context;
  const words: HistoryWords = await addWords(HISTORY_ENGLISH, context);
  const shadow = root.getRootNode() as ShadowRoot;
  addStyles(shadow, css);
  const showSources = createSources(words, shadow);
  const format = new Intl.DateTimeFormat(selectLocale(lang), { dateStyle: "medium", timeStyle: "short" });
  const createTime = (iso: string) => createElement("time", { datetime: iso }, format.format(Date.parse(iso)));
  let closeView: (() => void) | undefined;
  return {
    open() {
      if (!closeView && visitor.visitorToken) {
        const closing = new AbortController();
        const api = createHistoryApi(context, anySignal(context.signal, closing.signal));
        const remove = showHistory({ context, words, api, showSources, createTime }, () => closeView?.());
        closeView = () => {
          closeView = undefined;
          closing.abort();
          remove();
          context.onClosed();
        };
      }
    },
    close: () => closeView?.(),
  };
}

/** Shows the list of conversations. Returns a function that removes it. */
function showHistory(parts: Parts, close: () => void): () => void {
  const { context, words } = parts;
  const { root, opener } = context;
  const shadow = root.getRootNode() as ShadowRoot;
  const dialog = root.querySelector<HTMLElement>(".panel") as HTMLElement;
  const heading = createElement("h3", { id: "history", tabindex: "-1" });
  const backButton = createElement(
    "button",
    { type: "button", class: "icon back", onclick: () => back() },
    createIcon(BACK_ICON),
  );
  /** The shown conversation, and the list's button that opened it. */
  let shown: { readonly element: HTMLElement; readonly button: HTMLElement } | undefined;
  const showTitle = (title: string, backLabel: string) => {
    heading.replaceChildren(createElement("bdi", {}, title));
    backButton.setAttribute("aria-label", backLabel);
    backButton.title = backLabel;
  };
  const list = createList(parts, (session, button) => {
    const element = createConversation(parts, session, close);
    shown = { element, button };
    list.hidden = true;
    section.append(element);
    showTitle(session.title || words.log, words.toConversations);
    heading.focus();
  });
  const showList = () => {
    shown?.element.remove();
    list.hidden = false;
    showTitle(words.history, words.toChat);
    // If the visitor has gone on to the page while this file was loading, the focus stays there.
    if (shadow.activeElement || document.activeElement === document.body) {
      (shown?.button ?? heading).focus();
    }
    shown = undefined;
  };
  const back = () => {
    if (shown) {
      showList();
    } else {
      close();
      opener.focus();
    }
  };
  const onKey = (event: KeyboardEvent) => {
    // During an IME composition, Escape only cancels the composition and has the keyCode 229.
    if (event.keyCode === 27) {
      event.stopImmediatePropagation();
      back();
    }
  };
  const section = createElement(
    "section",
    { class: "history", "aria-labelledby": "history" },
    createElement("div", { class: "history-head" }, backButton, heading),
    list,
  );
  dialog.addEventListener("keydown", onKey, { capture: true });
  dialog.classList.add("has-history");
  dialog.querySelector("header")?.after(section);
  showList();
  return () => {
    const hadFocus = section.contains(shadow.activeElement);
    dialog.removeEventListener("keydown", onKey, { capture: true });
    dialog.classList.remove("has-history");
    section.remove();
    if (hadFocus) {
      context.focus();
    }
  };
}

function createList(parts: Parts, open: (session: PastSession, button: HTMLElement) => void): HTMLElement {
  const { context, words, api, createTime } = parts;
  const items = createElement("ul");
  const createItem = (session: PastSession) => {
    const isCurrent = session.id === context.store.read().session;
    const button = createElement(
      "button",
      { type: "button", "aria-current": String(isCurrent), onclick: () => open(session, button) },
      createElement("span", { dir: "auto" }, session.title || words.log),
      createTime(session.last_activity_at),
    );
    items.append(createElement("li", {}, button));
    return button;
  };
  const pager = createPager<PastSession>({
    words,
    label: words.moreConversations,
    emptyText: words.noConversations,
    load: (cursor) => api.listSessions(cursor),
    show(sessions) {
      const buttons = sessions.map(createItem);
      if (sessions.length > 0) {
        context.announce(fillPlaceholders(words.conversations, { n: items.children.length }));
      }
      return buttons;
    },
    announce: context.announce,
  });
  return createElement("div", { class: "history-body" }, items, pager);
}

const countEnded = (messages: readonly PastMessage[]) => messages.filter((message) => message.finish_reason).length;

/** Creates the view of one conversation. While a reply is running, reads the newest messages again until it has ended. */
function createConversation(parts: Parts, session: PastSession, close: () => void): HTMLElement {
  const { context, words, api, showSources, createTime } = parts;
  const { bot, createMessageView, notices, continueSession, announce } = context;
  let messages: readonly PastMessage[] = [];
  const createMessage = (entry: Entry) => {
    const retry = () => undefined;
    const view = createMessageView(entry.role, { botName: bot.name, words, selectNotice: notices.select, retry });
    // Only a running reply has no text.
    view.update(entry, entry.text ? undefined : { entry });
    showSources(view.element, entry);
    showAgent(view.element, entry);
    // A past message cannot be sent again.
    view.element.querySelector(".notice .link")?.remove();
    view.element.append(createTime(new Date(entry.at ?? 0).toISOString()));
    return view.element;
  };
  const list = createElement("div");
  const scroller = createElement("div", {
    class: "history-body",
    role: "group",
    "aria-label": words.log,
    tabindex: "0",
  });
  const continueButton = createElement(
    "button",
    {
      type: "button",
      class: "chip",
      hidden: "",
      onclick() {
        close();
        continueSession(
          session.id,
          toEntries(messages).filter(({ text }) => text),
        );
        announce(words.continued);
      },
    },
    words.continue,
  );
  const load = async (before?: string) => {
    const page = await api.listMessages(session.id, before);
    await Promise.all(toEntries(page.items).map(({ failed }) => failed && notices.load(failed)));
    return page;
  };
  const announceCount = () => announce(fillPlaceholders(words.messages, { n: list.children.length }));
  const scrollToEnd = () => {
    scroller.scrollTop = scroller.scrollHeight;
  };
  /** Waits until no reply is running. The visitor can then continue the conversation. */
  const awaitReplies = async (rereadsLeft = MAX_REREADS): Promise<void> => {
    // A message precedes its reply.
    const start = messages.findIndex(isRunning) - 1;
    continueButton.hidden = start >= 0 && rereadsLeft > 0;
    if (!continueButton.hidden) {
      return;
    }
    await pause(REREAD_AFTER_MS, context.signal);
    const first = Number(messages[start]?.id);
    const page = list.isConnected && (await load().catch(() => undefined));
    if (!list.isConnected) {
      return;
    }
    const newest = page ? page.items.filter(({ id }) => Number(id) >= first) : [];
    const shown = messages.slice(start);
    if (countEnded(newest) > countEnded(shown)) {
      const elements = [...list.children].slice(-toEntries(shown).length);
      for (const element of elements) {
        element.remove();
      }
      messages = [...messages.slice(0, start), ...newest];
      list.append(...toEntries(newest).map(createMessage));
      announceCount();
      scrollToEnd();
    }
    return awaitReplies(rereadsLeft - 1);
  };
  const pager = createPager<PastMessage>({
    words,
    label: words.olderMessages,
    load,
    show(page, isFirst) {
      messages = [...page, ...messages];
      const elements = toEntries(page).map(createMessage);
      list.prepend(...elements);
      announceCount();
      if (isFirst) {
        void awaitReplies();
        // After the button that awaitReplies may show, because it takes some of the height.
        scrollToEnd();
      }
      return elements;
    },
    announce,
  });
  scroller.append(pager, list);
  return createElement("div", { class: "conversation" }, scroller, continueButton);
}

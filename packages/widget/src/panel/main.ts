import { addStyles, FULL_SCREEN_QUERY } from "../shared/dom.ts";
import { directionOf } from "../shared/language.ts";
import { readOpenState, writeOpenState } from "../shared/open-state.ts";
import { renderMarkdown } from "../shared/render-markdown.ts";
import type { Panel, PanelContext } from "../shared/types.ts";
import { createUuid } from "../shared/uuid.ts";
import { createAnnouncer } from "./announcer.ts";
import { createBadge } from "./badge.ts";
import { ChatSession } from "./chat-session.ts";
import type { ChunkContext } from "./chunk.ts";
import { createComposer } from "./composer.ts";
import { createDialog } from "./dialog.ts";
import { PANEL_ENGLISH } from "./english.ts";
import { createGateLoader } from "./gate-loader.ts";
import { createHistoryButton } from "./history-button.ts";
import { readVisitorId, readVisitorToken } from "./identity.ts";
import { keepEventsFromPage } from "./keep-events.ts";
import { createMessageView } from "./message.ts";
import { createMessageLog } from "./message-log.ts";
import { createModality } from "./modality.ts";
import { createNotices } from "./notices.ts";
import { createToolsLoader } from "./reply-tools.ts";
import { SessionStore } from "./session-store.ts";
import { PANEL_CSS } from "./styles.ts";
import { applyTheme } from "./theme.ts";
import { fillPlaceholders, loadTexts } from "./words.ts";

/** Creates the panel in the launcher's shadow root. It is hidden until `show` is called. */
export async function mount(context: PanelContext): Promise<Panel> {
  const { root, signal, visitor } = context;
  const { lang, words: widgetWords } = await loadTexts(PANEL_ENGLISH, context.lang, context.base);
  const { words: botWords, ...botTexts } = context.bot.texts?.[lang] ?? {};
  const bot = { ...context.bot, ...botTexts };
  const words = { ...widgetWords, ...botWords };
  const store = new SessionStore(context.publicKey, () => localStorage, createUuid);
  /** Announces each complete reply. Separate from `status`, so that the state of the next turn does not replace a reply that is being read. */
  const replies = createAnnouncer();
  /** Announces the state of a turn, and the results of the visitor's actions. */
  const status = createAnnouncer();
  const badge = createBadge(context, words);

  const focus = () => {
    // On a touch screen, focusing the text field would open a keyboard that covers the messages.
    if (!matchMedia("(pointer: coarse)").matches) {
      composer.focus();
    } else if (!dialog.querySelector("textarea:focus")) {
      dialog.focus();
    }
  };
  const chunkContext: ChunkContext = { ...context, lang, words, announce: status.announce, focus, renderMarkdown };
  const notices = createNotices(chunkContext, () => chat.show());
  let { resetAt } = store.read();
  /** Follows a change of the visitor by the page, and a change of the session by another tab. */
  const follow = () => {
    const { resetAt: storedResetAt } = store.read();
    if ((visitor.since ?? 0) < storedResetAt) {
      // Another tab has forgotten the visitor since the page named them.
      Object.assign(visitor, {
        visitorId: undefined,
        visitorToken: undefined,
        metadata: undefined,
        since: storedResetAt,
      });
    }
    const id = readVisitorId(visitor);
    if (id !== undefined && !store.claim(id)) {
      store.forget();
      visitor.since = Date.now();
      store.claim(id);
    }
    const isForgotten = store.read().resetAt !== resetAt;
    resetAt = store.read().resetAt;
    history.update();
    if (isForgotten) {
      history.close();
      composer.clear();
      badge.clear();
      status.announce();
      replies.announce();
      chat.leave();
    } else {
      chat.show();
    }
  };
  const send = (text: string) => {
    follow();
    history.close();
    log.scrollToEnd();
    chat.send(text);
    focus();
  };
  const onTurnEnd = (replyId: string, code?: string) => {
    if (code) {
      void notices.load(code).then(({ text }) => status.announce(text));
    } else {
      // The status becomes empty: the same state in the next turn is a change then, which screen readers announce.
      status.announce();
      replies.announce(...log.linesOf(replyId));
    }
    if (dialog.hidden) {
      badge.add();
    }
  };
  const log = createMessageLog(bot, words, {
    send,
    retry(entry) {
      follow();
      chat.retry(entry);
      focus();
    },
    undo() {
      chat.undo();
      status.announce(words.undo);
      log.scrollToEnd();
      focus();
    },
    selectNotice: notices.select,
    getTools: createToolsLoader(chunkContext, { store, show: () => chat.show(), onTurnEnd }),
  });
  const composer = createComposer(words, { onSend: send, onStop: () => chat.stop(), announce: status.announce });
  const chat: ChatSession = new ChatSession(chunkContext, store, createUuid, {
    show(entries, active) {
      log.show(entries, active, store.read().previous !== undefined);
      composer.setBusy(active !== undefined);
    },
    passGate: createGateLoader(chunkContext),
    onState(state) {
      if (state === "ended") {
        void notices.load(state).then(({ text }) => status.announce(text));
      } else if (!dialog.dataset.answers) {
        status.announce(fillPlaceholders(words[state], { name: bot.name }));
      }
    },
    onTurnEnd,
  });
  const history = createHistoryButton({
    ...chunkContext,
    store,
    createMessageView,
    notices,
    readToken: (until) => readVisitorToken(visitor, until),
    continueSession(session, entries) {
      chat.continue(session, entries);
      log.scrollToEnd();
      focus();
    },
    onClosed: () => log.restoreScroll(),
  });
  const dialog = createDialog(context, words, history.element, [...log.elements, composer.element], {
    onClose: context.close,
    onEscape: () => (composer.isBusy() ? chat.stop() : context.close()),
    onNew() {
      history.close();
      chat.startNew();
      status.announce(words.new);
      focus();
    },
  });

  const shadow = root.getRootNode() as ShadowRoot;
  addStyles(shadow, PANEL_CSS);
  root.lang = lang;
  root.dir = directionOf(lang);
  keepEventsFromPage(shadow.host, signal);
  applyTheme(context);
  root.prepend(dialog, replies.element, status.element);
  const modality = createModality(dialog, signal);
  follow();
  chat.resume();
  // Another tab changed the session, or cleared the storage (key null).
  addEventListener("storage", ({ key }) => (key === store.itemKey || key === null) && follow(), { signal });
  // A page that the browser restores from its cache has received no storage events. The visitor may have closed the panel on a later page.
  addEventListener(
    "pageshow",
    ({ persisted }) => {
      if (persisted) {
        follow();
        if (!readOpenState(context.publicKey, true)) {
          context.close();
        }
      }
    },
    { signal },
  );
  addEventListener("online", () => chat.resume(), { signal });

  /**
   * The element that had the focus before the panel took it. If the widget has the focus when the panel closes, the focus returns to this element
   * or, if that is impossible, to the launcher's button.
   */
  let opener: Element | null = null;

  return {
    show(withFocus) {
      opener = withFocus ? document.activeElement : null;
      dialog.hidden = false;
      context.button.setAttribute("aria-expanded", "true");
      modality.update();
      // Screen readers do not announce changes outside a modal dialog.
      dialog.append(replies.element, status.element);
      // A panel that would cover the next page does not open there.
      writeOpenState(context.publicKey, matchMedia(FULL_SCREEN_QUERY).matches ? undefined : true);
      badge.clear();
      log.scrollToEnd();
      if (withFocus) {
        focus();
      }
    },
    hide() {
      const hadFocus = shadow.activeElement;
      history.close();
      dialog.hidden = true;
      modality.update();
      root.append(replies.element, status.element);
      context.button.setAttribute("aria-expanded", "false");
      writeOpenState(context.publicKey, false);
      if (hadFocus) {
        const canFocusOpener = opener?.isConnected && opener !== shadow.host && opener !== document.body;
        (canFocusOpener ? (opener as HTMLElement) : context.button).focus();
      }
    },
    send,
    identified: follow,
    reset() {
      store.forget();
      follow();
    },
    restored: () => log.restoreScroll(),
  };
}

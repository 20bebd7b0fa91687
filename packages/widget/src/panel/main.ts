import { addStyles, createElement, FULL_SCREEN_QUERY } from "../shared/dom.ts";
import { readOpenState, writeOpenState } from "../shared/open-state.ts";
import type { Panel, PanelContext } from "../shared/types.ts";
import { createUuid } from "../shared/uuid.ts";
import { createBadge } from "./badge.ts";
import { ChatSession } from "./chat-session.ts";
import { createComposer } from "./composer.ts";
import { createDialog } from "./dialog.ts";
import { readVisitorId } from "./identity.ts";
import { keepEventsFromPage } from "./keep-events.ts";
import { createMessageLog } from "./message-log.ts";
import { post } from "./post.ts";
import { type Entry, SessionStore } from "./session-store.ts";
import { PANEL_CSS } from "./styles.ts";
import { applyTheme } from "./theme.ts";
import { loadWords, selectNotice } from "./words.ts";

/** Creates the panel in the launcher's shadow root. It is hidden until `show` is called. */
export async function mount(context: PanelContext): Promise<Panel> {
  const { bot, root, signal, visitor } = context;
  const words = await loadWords(context.lang, context.base);
  const store = new SessionStore(context.publicKey, () => localStorage, createUuid);
  /** Announces each reply or failure to screen readers. */
  const status = createElement("p", { class: "sr", role: "status" });
  const badge = createBadge(context.button);

  // Ratings are sent one after the other, so that the last one is stored. If a request fails, the reply's previous rating is shown again.
  let ratings = Promise.resolve();
  const rate = ({ id }: Entry, rating: "up" | "down" | "") => {
    ratings = ratings.then(async () => {
      const { session, entries } = store.read();
      const entry = entries.find((each) => each.id === id);
      if (entry) {
        store.put(session, { ...entry, rating });
        chat.show();
        if (!(await post(context, "rating", session, { message_id: entry.messageId, rating }))) {
          store.put(session, entry);
          chat.show();
          status.textContent = words.ratingFailed;
        }
      }
    });
  };
  const focus = () => {
    // On a touch screen, focusing the text field would open a keyboard that covers the messages.
    if (!matchMedia("(pointer: coarse)").matches) {
      composer.focus();
    } else if (!dialog.querySelector("textarea:focus")) {
      dialog.focus();
    }
  };
  let { resetAt } = store.read();
  /** Follows a change of the visitor by the page, and a change of the session by another tab. */
  const follow = () => {
    const { resetAt: storedResetAt } = store.read();
    if ((visitor.since ?? 0) < storedResetAt) {
      // Another tab has forgotten the visitor since the page named them.
      Object.assign(visitor, { visitorId: undefined, metadata: undefined, since: storedResetAt });
    }
    const id = readVisitorId(visitor);
    if (id !== undefined && !store.claim(id)) {
      store.forget();
      visitor.since = Date.now();
      store.claim(id);
    }
    const isForgotten = store.read().resetAt !== resetAt;
    resetAt = store.read().resetAt;
    if (isForgotten) {
      composer.clear();
      badge.clear();
      status.textContent = "";
      chat.leave();
    } else {
      chat.show();
    }
  };
  const send = (text: string) => {
    follow();
    log.scrollToEnd();
    chat.send(text);
    focus();
  };
  const log = createMessageLog(bot, words, {
    send,
    rate,
    retry(entry) {
      follow();
      chat.retry(entry);
      focus();
    },
  });
  const composer = createComposer(words, send, () => chat.stop());
  const chat: ChatSession = new ChatSession(context, store, createUuid, {
    show(entries, active) {
      log.show(entries, active);
      composer.setBusy(active !== undefined);
    },
    onThinking() {
      status.textContent = words.thinking;
    },
    onTurnEnd(replyId, code) {
      status.textContent = code ? words[selectNotice(code).key] : log.textOf(replyId);
      if (dialog.hidden) {
        badge.add();
      }
    },
  });
  const dialog = createDialog(context, words, [...log.elements, composer.element], {
    onClose: context.close,
    onEscape: () => (composer.isBusy() ? chat.stop() : context.close()),
    onNew() {
      chat.startNew();
      focus();
    },
  });

  const shadow = root.getRootNode() as ShadowRoot;
  addStyles(shadow, PANEL_CSS);
  root.dir ||= isRightToLeft(context) ? "rtl" : "ltr";
  keepEventsFromPage(shadow.host, signal);
  applyTheme(context);
  root.prepend(dialog, status);
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
      const coversPage = matchMedia(FULL_SCREEN_QUERY).matches;
      dialog.setAttribute("aria-modal", String(coversPage));
      // A panel that would cover the next page does not open there.
      writeOpenState(context.publicKey, coversPage ? undefined : true);
      badge.clear();
      log.scrollToEnd();
      if (withFocus) {
        focus();
      }
    },
    hide() {
      const hadFocus = shadow.activeElement;
      dialog.hidden = true;
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

function isRightToLeft({ lang, ownLanguage }: PanelContext): boolean {
  const pageDirection = getComputedStyle(document.documentElement).direction;
  return /^(ar|dv|fa|he|ps|ur|yi)\b/.test(lang) || (!ownLanguage && pageDirection === "rtl");
}

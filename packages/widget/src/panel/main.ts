import { addStyles, createElement } from "../shared/dom.ts";
import type { Panel, PanelContext } from "../shared/types.ts";
import { createUuid } from "../shared/uuid.ts";
import { createBadge } from "./badge.ts";
import { ChatSession } from "./chat-session.ts";
import { createComposer } from "./composer.ts";
import { createDialog, FULL_SCREEN_QUERY } from "./dialog.ts";
import { readVisitorId } from "./identity.ts";
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

  addStyles(root.getRootNode() as ShadowRoot, PANEL_CSS);
  applyTheme(context);
  root.prepend(dialog, status);
  follow();
  chat.resume();
  // Another tab changed the session, or cleared the storage (key null).
  addEventListener("storage", ({ key }) => (key === store.itemKey || key === null) && follow(), { signal });
  // A page that the browser restores from its cache has received no storage events.
  addEventListener("pageshow", ({ persisted }) => persisted && follow(), { signal });
  addEventListener("online", () => chat.resume(), { signal });

  return {
    show(withFocus) {
      dialog.hidden = false;
      dialog.ariaModal = String(matchMedia(FULL_SCREEN_QUERY).matches);
      badge.clear();
      log.scrollToEnd();
      if (withFocus) {
        focus();
      }
    },
    hide() {
      dialog.hidden = true;
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

import { addStyles, el } from "../shared/dom.ts";
import type { Panel, PanelContext } from "../shared/types.ts";
import { createBadge } from "./badge.ts";
import composerCss from "./composer.css";
import { createComposer } from "./composer.ts";
import { Conversation } from "./conversation.ts";
import { COVERS, createDialog } from "./dialog.ts";
import { createLog } from "./log.ts";
import messageCss from "./message.css";
import panelCss from "./panel.css";
import { rate } from "./rate.ts";
import { type Entry, Store, uuid } from "./store.ts";
import { applyTheme } from "./theme.ts";
import { loadWords, meaningOf } from "./words.ts";

/** Builds the panel in the launcher's shadow root. It is hidden until `show`. */
export async function mount(context: PanelContext): Promise<Panel> {
  const { bot, root, signal } = context;
  const words = await loadWords(context.lang, context.base);
  const store = new Store(context.publicKey, () => localStorage, uuid);
  const status = el("p", { class: "sr", role: "status" });
  const badge = createBadge(context.button);

  const setRating = async (entry: Entry, rating: "up" | "down" | "") => {
    const { session } = store.read();
    const put = (value: Entry) => {
      store.put(session, value);
      conversation.show();
    };
    put({ ...entry, rating });
    if (!(await rate(context, session, entry.messageId as number, rating))) {
      put(entry);
      status.textContent = words.unrated;
    }
  };
  const focus = () => {
    // Where a finger writes, focus brings up a keyboard, which covers what there is to read.
    if (!matchMedia("(pointer: coarse)").matches) {
      composer.focus();
    } else if (!dialog.querySelector("textarea:focus")) {
      dialog.focus();
    }
  };
  const ask = (text: string) => {
    log.toEnd();
    conversation.ask(text);
    focus();
  };
  const log = createLog(bot, words, {
    ask,
    rate: (entry, rating) => void setRating(entry, rating),
    retry(entry) {
      conversation.retry(entry);
      focus();
    },
  });
  const composer = createComposer(words, ask, () => conversation.stop());
  const conversation: Conversation = new Conversation(context, store, uuid, {
    show(entries, live) {
      log.show(entries, live);
      composer.busy(live !== undefined);
    },
    ended(answerId, code) {
      status.textContent = code ? words[meaningOf(code).word] : log.textOf(answerId);
      if (dialog.hidden) {
        badge.add();
      }
    },
  });
  const dialog = createDialog(context, words, [...log.elements, composer.element], {
    onClose: context.close,
    onNew() {
      conversation.reset();
      focus();
    },
  });

  addStyles(root.getRootNode() as ShadowRoot, panelCss + messageCss + composerCss);
  applyTheme(context);
  root.prepend(dialog, status);
  conversation.show();
  addEventListener("storage", ({ key }) => (key === store.key || key === null) && conversation.show(), { signal });
  addEventListener("online", () => conversation.online(), { signal });
  addEventListener("pagehide", () => conversation.keep(), { signal });

  return {
    show(withFocus) {
      dialog.hidden = false;
      dialog.ariaModal = String(matchMedia(COVERS).matches);
      badge.clear();
      log.toEnd();
      if (withFocus) {
        focus();
      }
    },
    hide() {
      dialog.hidden = true;
    },
    send: ask,
    restored: log.restore,
  };
}

// What a complete reply needs: the times of messages, and the controls to copy and rate the reply. The panel loads this file with the first complete
// reply.

import type { Entry } from "../panel/session-store.ts";
import { addStyles, createElement, createIcon } from "../shared/dom.ts";
import { copyText } from "./copy-text.ts";
import { createRatings, type Rate, type RatingContext } from "./ratings.ts";
import { createTimes, type Times } from "./times.ts";
import css from "./tools.css";

const THUMB_ICON =
  "M7 10v10H4V10zM7 11l4-7c1.6 0 2.5 1.2 2.2 2.7L12.5 10H18c1.4 0 2.3 1.2 2 2.5l-1.3 5.6c-.3 1.1-1.2 1.9-2.4 1.9H7";
const COPY_ICON = "M9 9h11v11H9zM15 9V4H4v11h5";
const COPIED_ICON = "M5 13l4 4L19 7";

/** For how long the copy button shows that the reply was copied. */
const COPIED_MS = 2_000;
/** The service's limit on a reason, in UTF-16 code units at most. */
const MAX_REASON_CHARACTERS = 1_000;

export interface Tools extends Times {
  /** Creates the controls below one reply. */
  createReplyTools(): ReplyTools;
}

export interface ReplyTools {
  readonly element: HTMLElement;
  update(entry: Entry, isReplying: boolean): void;
}

export interface ToolsContext extends RatingContext {
  /** The language of the words. */
  readonly lang: string;
  /** The shadow root, for the style sheet. */
  readonly shadow: ShadowRoot;
}

export function mountTools(context: ToolsContext): Tools {
  addStyles(context.shadow, css);
  const rate = createRatings(context);
  return { ...createTimes(context.lang), createReplyTools: () => createReplyTools(context, rate) };
}

function createReplyTools({ words, announce, emit }: ToolsContext, rate: Rate): ReplyTools {
  let entry: Entry;
  /** Whether the visitor has just rated the reply as bad, on this page. */
  let asksReason = false;
  const button = (name: string, label: string, icons: readonly string[], onclick: () => void) =>
    createElement(
      "button",
      { type: "button", class: `icon tool ${name}`, "aria-label": label, title: label, onclick },
      ...icons.map(createIcon),
    );
  const copyReply = async () => {
    const box = element.parentElement?.querySelector<HTMLElement>(".bubble");
    // biome-ignore lint/performance/useDomNodeTextContent: innerText separates paragraphs and list items by line breaks
    const text = box?.innerText ?? "";
    const isCopied = await copyText(text, element);
    copy.focus();
    if (isCopied) {
      emit("copy", { text });
      announce(words.copied);
      copy.dataset.done = copy.title = words.copied;
      setTimeout(() => {
        delete copy.dataset.done;
        copy.title = words.copy;
      }, COPIED_MS);
    }
  };
  const copy = button("copy", words.copy, [COPY_ICON, COPIED_ICON], () => void copyReply());
  const thumbs = (["up", "down"] as const).map((value) =>
    button(`thumb ${value}`, words[value], [THUMB_ICON], () => {
      const rating = entry.rating === value ? "" : value;
      asksReason = rating === "down";
      void rate(entry, rating);
    }),
  );
  const [up, down] = thumbs as [HTMLButtonElement, HTMLButtonElement];
  const rating = createElement("div", { class: "rating" }, up, down);
  const reason = createElement("textarea", { rows: "2", maxlength: String(MAX_REASON_CHARACTERS) });
  const sendReason = async () => {
    const text = reason.value.trim();
    if (text && (await rate(entry, "down", text))) {
      announce(words.reasonSent);
    }
  };
  const form = createElement(
    "form",
    {
      class: "reason",
      onsubmit(event: Event) {
        event.preventDefault();
        // The form is removed while the reason is sent, so it cannot keep the focus.
        down.focus();
        void sendReason();
      },
    },
    createElement("label", {}, words.reason, reason),
    createElement("button", { type: "submit", class: "link" }, words.send),
  );
  const thanks = createElement("p", { class: "notice" }, words.reasonSent);
  const element = createElement(
    "div",
    { class: "below" },
    createElement("div", { class: "tools" }, copy, rating),
    thanks,
  );
  return {
    element,
    update(newEntry, isReplying) {
      entry = newEntry;
      element.hidden = isReplying || entry.failed !== undefined;
      rating.hidden = entry.messageId === undefined;
      up.setAttribute("aria-pressed", String(entry.rating === "up"));
      down.setAttribute("aria-pressed", String(entry.rating === "down"));
      thanks.hidden = !entry.reason;
      const showsForm = asksReason && entry.rating === "down" && !entry.reason;
      if (showsForm !== form.isConnected) {
        showsForm ? element.append(form) : form.remove();
      }
    },
  };
}

// What a complete reply needs: the times of messages, the sources of the reply, and the controls to copy and rate it. The panel loads this file with
// the first complete reply or, if visitors may ask for a person, with the first message.

import type { HandoffContext } from "../handoff/context.ts";
import { addWords } from "../panel/chunk.ts";
import type { Entry } from "../panel/session-store.ts";
import { addStyles, createElement, createIcon } from "../shared/dom.ts";
import { showAgent } from "../shared/show-agent.ts";
import { createSources } from "../sources/sources.ts";
import { copyText } from "./copy-text.ts";
import { TOOLS_ENGLISH } from "./english.ts";
import { createHandoffLoader } from "./handoff-loader.ts";
import { createRatings, type Rate, type RatingContext, type ToolsWords } from "./ratings.ts";
import { createTimes } from "./times.ts";
import css from "./tools.css";

const THUMB_ICON =
  "M7 10v10H4V10zM7 11l4-7c1.6 0 2.5 1.2 2.2 2.7L12.5 10H18c1.4 0 2.3 1.2 2 2.5l-1.3 5.6c-.3 1.1-1.2 1.9-2.4 1.9H7";
const COPY_ICON = "M9 9h11v11H9zM15 9V4H4v11h5";
const COPIED_ICON = "M5 13l4 4L19 7";

/** For how long the copy button shows that the reply was copied. */
const COPIED_MS = 2_000;
/** The service's limit on a reason, in UTF-16 code units at most. */
const MAX_REASON_CHARACTERS = 1_000;

/** A message that the panel shows. */
export interface ShownMessage {
  readonly entry: Entry;
  readonly element: HTMLElement;
  /** Whether the entry is still changing. */
  readonly isActive: boolean;
}

export interface Tools {
  /** Shows the times and days of all messages, in their order, and the controls below complete replies. */
  update(messages: readonly ShownMessage[]): void;
}

/** What the tools need of the panel. */
export type ToolsContext = HandoffContext & Omit<RatingContext, "words">;

/** What this file adds to one message. */
interface Additions {
  readonly day: HTMLElement;
  readonly time: HTMLElement;
  replyTools?: ReplyTools;
}

interface ReplyTools {
  readonly element: HTMLElement;
  update(entry: Entry, isReplying: boolean): void;
}

export async function mountTools(context: ToolsContext): Promise<Tools> {
  const words = await addWords(TOOLS_ENGLISH, context);
  const root = context.root.getRootNode() as ShadowRoot;
  addStyles(root, css);
  const showSources = createSources(words, root);
  const handoff = createHandoffLoader(context);
  const storeRating = createRatings({ ...context, words });
  const rate: Rate = async (entry, rating, reason) => {
    const isStored = await storeRating(entry, rating, reason);
    // A rule of the bot may have asked for a person.
    if (isStored && rating === "down") {
      handoff.follow();
    }
    return isStored;
  };
  const { formatTime, formatDay } = createTimes(context.lang);
  const additions = new WeakMap<HTMLElement, Additions>();
  const addTo = (element: HTMLElement, entry: Entry): Additions => {
    const added = { day: createElement("p", { class: "day" }), time: createElement("span", { class: "time" }) };
    element.prepend(added.day);
    element.append(added.time);
    showAgent(element, entry);
    additions.set(element, added);
    return added;
  };
  return {
    update(messages) {
      // A conversation of today needs no day.
      let lastDay = formatDay(Date.now());
      for (const { entry, element, isActive } of messages) {
        const added = additions.get(element) ?? addTo(element, entry);
        const day = entry.at ? formatDay(entry.at) : lastDay;
        added.time.textContent = entry.at ? formatTime(entry.at) : "";
        added.day.textContent = day === lastDay ? "" : day;
        lastDay = day;
        if (!isActive) {
          showSources(element, entry);
        }
        if (!added.replyTools && entry.role === "assistant" && !isActive && !entry.failed) {
          added.replyTools = createReplyTools(words, context, rate);
          element.querySelector(".notice")?.before(added.replyTools.element);
        }
        added.replyTools?.update(entry, isActive);
      }
      if (!messages.some(({ isActive }) => isActive)) {
        handoff.update();
      }
    },
  };
}

function createReplyTools(words: ToolsWords, { announce, emit }: ToolsContext, rate: Rate): ReplyTools {
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
      rating.hidden = entry.messageId === undefined || entry.agent !== undefined;
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

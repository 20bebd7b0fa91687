import { el, icon } from "../shared/dom.ts";
import { showMarkdown } from "./render.ts";
import type { Entry } from "./store.ts";
import { fill, meaningOf, type Words } from "./words.ts";

const THUMB =
  "M7 10v10H4V10zM7 11l4-7c1.6 0 2.5 1.2 2.2 2.7L12.5 10H18c1.4 0 2.3 1.2 2 2.5l-1.3 5.6c-.3 1.1-1.2 1.9-2.4 1.9H7";

/** What a visitor can do with a message. */
export interface MessageActions {
  rate(entry: Entry, rating: "up" | "down" | ""): void;
  retry(entry: Entry): void;
}

/** A message on the screen. */
export interface MessageView {
  readonly element: HTMLElement;
  /** Shows the entry as it is now; `waitS` is the time until it is sent again, `live` that its answer is on its way. */
  update(entry: Entry, state: { readonly live?: boolean; readonly waitS?: number }): void;
}

/** Makes the view of one message. */
export function messageView(role: Entry["role"], name: string, words: Words, actions: MessageActions): MessageView {
  const mine = role === "user";
  let entry: Entry;
  // The direction is the text's, not the bubble's: that one keeps its side and its corner.
  const text = el("div", { dir: "auto" });
  const bubble = el("div", { class: "bubble" }, text);
  const notice = el("span");
  const retry = el("button", { type: "button", class: "link", onclick: () => actions.retry(entry) }, words.retry);
  const below = el("p", { class: "notice" }, notice, " ", retry);
  const typing = el(
    "div",
    { class: "typing" },
    el("span", { class: "sr" }, fill(words.typing, { name })),
    el("span", { class: "dots" }, el("i"), el("i"), el("i")),
  );
  const thumbs = (["up", "down"] as const).map((way) =>
    el(
      "button",
      {
        type: "button",
        class: `icon thumb ${way}`,
        "aria-label": words[way],
        title: words[way],
        onclick: () => actions.rate(entry, entry.rating === way ? "" : way),
      },
      icon(THUMB),
    ),
  );
  const rating = el("div", { class: "rating" }, ...thumbs);
  const who = el("span", { class: "sr" }, `${mine ? words.you : name}: `);
  return {
    element: el("div", { class: `message ${role}` }, who, bubble, ...(mine ? [] : [typing, rating]), below),
    update(now, { live = false, waitS = 0 }) {
      entry = now;
      if (mine) {
        text.textContent = now.text;
      } else {
        showMarkdown(text, now.text);
      }
      bubble.hidden = !now.text;
      typing.hidden = !(live && bubble.hidden);
      rating.hidden = live || now.messageId === undefined || now.failed !== undefined;
      for (const [at, thumb] of thumbs.entries()) {
        thumb.ariaPressed = String(now.rating === (at ? "down" : "up"));
      }
      const meaning = now.failed && !live ? meaningOf(now.failed) : undefined;
      notice.textContent = waitS ? fill(words.wait, { n: waitS }) : meaning ? words[meaning.word] : "";
      below.hidden = !notice.textContent;
      retry.hidden = waitS > 0 || !meaning?.retry;
    },
  };
}

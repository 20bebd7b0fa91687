import { createElement, createIcon } from "../shared/dom.ts";
import type { PanelContext } from "../shared/types.ts";
import { fillPlaceholders, type Words } from "./words.ts";

/** Adds to the launcher's button a count of unread replies, and the icon that the button shows while the panel is open. */
export function createBadge({ button, emit }: PanelContext, words: Words): { add(): void; clear(): void } {
  const label = button.getAttribute("aria-label") ?? "";
  const count = createElement("span", { class: "badge", "aria-hidden": "true", hidden: "" });
  let unread = 0;
  const show = (newUnread: number) => {
    if (newUnread !== unread) {
      unread = newUnread;
      count.textContent = String(unread);
      count.hidden = unread === 0;
      button.setAttribute(
        "aria-label",
        unread > 0 ? `${label}. ${fillPlaceholders(words.unread, { n: unread })}` : label,
      );
      emit("unread", { count: unread });
    }
  };
  button.append(createIcon("M6 9.5l6 6 6-6"), count);
  return {
    add: () => show(unread + 1),
    clear: () => show(0),
  };
}

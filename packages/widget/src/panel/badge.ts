import { createElement, createIcon } from "../shared/dom.ts";

/** Adds to the launcher's button a count of unread replies, and the icon that the button shows while the panel is open. */
export function createBadge(button: HTMLButtonElement): { add(): void; clear(): void } {
  const label = button.getAttribute("aria-label") ?? "";
  const count = createElement("span", { class: "badge", "aria-hidden": "true" });
  const show = (unread: number) => {
    count.textContent = String(unread);
    count.hidden = unread === 0;
    button.setAttribute("aria-label", unread > 0 ? `${label}, ${unread}` : label);
  };
  show(0);
  button.append(createIcon("M6 9.5l6 6 6-6"), count);
  return {
    add: () => show(Number(count.textContent) + 1),
    clear: () => show(0),
  };
}

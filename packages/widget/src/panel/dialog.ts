import { createElement, createIcon } from "../shared/dom.ts";
import type { BotConfig, PanelContext } from "../shared/types.ts";
import type { Words } from "./words.ts";

const NEW_ICON = "M12 20h8M16.5 4.5a2 2 0 0 1 3 3L8 19l-4 1 1-4z";
const CLOSE_ICON = "M6 6l12 12M18 6L6 18";

/** Creates a button of the header. */
export function createIconButton(label: string, path: string, onclick: () => void): HTMLButtonElement {
  return createElement(
    "button",
    { type: "button", class: "icon", "aria-label": label, title: label, onclick },
    createIcon(path),
  );
}

/** `history` is the button of the past conversations. */
export function createDialog(
  { bot, signal }: PanelContext,
  words: Words,
  history: HTMLElement,
  content: readonly HTMLElement[],
  actions: { onClose(): void; onEscape(): void; onNew(): void },
): HTMLElement {
  const dialog = createElement(
    "div",
    { class: "panel", role: "dialog", "aria-labelledby": "name", tabindex: "-1", hidden: "" },
    createElement(
      "header",
      {},
      createAvatar(bot),
      createElement("h2", { id: "name" }, createElement("bdi", {}, bot.name)),
      history,
      createIconButton(words.new, NEW_ICON, actions.onNew),
      createIconButton(words.close, CLOSE_ICON, actions.onClose),
    ),
    ...content,
  );
  dialog.addEventListener("keydown", (event) => {
    // During an IME composition, Escape only cancels the composition and has the keyCode 229.
    if (event.keyCode === 27) {
      event.stopPropagation();
      actions.onEscape();
    }
  });
  // On iOS the on-screen keyboard resizes only the visual viewport, which the visitor can then pan. The dialog follows it.
  for (const event of ["resize", "scroll"]) {
    visualViewport?.addEventListener(
      event,
      ({ target }) => {
        const { height, offsetTop, scale } = target as VisualViewport;
        dialog.style.cssText = scale === 1 ? `--screen:${height}px;--top:${offsetTop}px` : "";
      },
      { signal },
    );
  }
  return dialog;
}

/** Creates the bot's logo, or the first letter of its name if it has no logo or the logo cannot be loaded. */
function createAvatar(bot: BotConfig): HTMLElement {
  const letter = createElement(
    "span",
    { class: "avatar", "aria-hidden": "true" },
    [...bot.name][0]?.toUpperCase() ?? "",
  );
  if (!/^https?:/.test(bot.logo_url)) {
    return letter;
  }
  const logo = createElement("img", {
    class: "avatar",
    alt: "",
    referrerpolicy: "no-referrer",
    onerror: () => logo.replaceWith(letter),
    src: bot.logo_url,
  });
  return logo;
}

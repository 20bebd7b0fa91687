import { parseColor, textColorOn } from "../shared/color.ts";
import { addStyles, createElement, createIcon } from "../shared/dom.ts";
import type { BotConfig } from "../shared/types.ts";
import css from "./launcher.css";
import type { Options } from "./options.ts";
import { selectLauncherWords } from "./words.ts";

/** The part of the widget that is on the page before the visitor opens the panel. */
export interface Launcher {
  /** The custom element to insert into the page. */
  readonly element: HTMLElement;
  /** The element in the shadow root that contains the button and, later, the panel. */
  readonly root: HTMLElement;
  readonly button: HTMLButtonElement;
  /** Shows or hides the notice that the panel could not be loaded. */
  showError(isShown: boolean): void;
}

export function createLauncher(bot: BotConfig, options: Options, onClick: () => void): Launcher {
  const [chat, loadFailedText] = selectLauncherWords(options.lang);
  const label = bot.name ? `${chat}: ${bot.name}` : chat;
  const loadError = createElement("p", { class: "load-error", role: "alert" });
  const button = createElement(
    "button",
    { class: "launcher", type: "button", "aria-label": label, "aria-expanded": "false", onclick: onClick },
    createIcon("M12 4c-5 0-9 3.2-9 7.3 0 2.1 1 4 2.7 5.3L5 20.5l4.3-2.1c.9.2 1.8.3 2.7.3 5 0 9-3.3 9-7.4S17 4 12 4z"),
  );
  const root = createElement(
    "section",
    { class: "root", "aria-label": label, dir: options.isRightToLeft ? "rtl" : "ltr" },
    loadError,
    button,
  );
  root.dataset.side = (options.position ?? bot.position) === "bottom-left" ? "left" : "right";
  applyConfig(root.style, bot);
  const element = document.createElement("parley-widget");
  const shadow = element.attachShadow({ mode: "open" });
  addStyles(shadow, css);
  shadow.append(root);
  return {
    element,
    root,
    button,
    showError(isShown) {
      loadError.textContent = isShown ? loadFailedText : "";
    },
  };
}

function applyConfig(style: CSSStyleDeclaration, bot: BotConfig): void {
  const primary = parseColor(bot.primary_color);
  style.setProperty("--parley-primary", `rgb(${primary})`);
  style.setProperty("--parley-on-primary", textColorOn(primary));
  style.setProperty("--parley-radius", `${bot.border_radius}px`);
  style.fontFamily = `${bot.font_family ? `${bot.font_family},` : ""}system-ui,sans-serif`;
  for (const [name, value] of Object.entries(bot.custom_css_vars)) {
    if (name.startsWith("--")) {
      style.setProperty(name, value);
    }
  }
}

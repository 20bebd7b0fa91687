import { inkOn, parseColor } from "../shared/color.ts";
import { addStyles, el, icon } from "../shared/dom.ts";
import type { BotConfig } from "../shared/types.ts";
import css from "./launcher.css";
import type { Options } from "./options.ts";
import { launcherWords } from "./words.ts";

/** What stands on the page before the visitor opens the panel. */
export interface Host {
  readonly element: HTMLElement;
  readonly root: HTMLElement;
  readonly button: HTMLButtonElement;
  /** Tells the visitor that the panel could not be fetched, or no longer. */
  failed(yes: boolean): void;
}

/** Draws the launcher in a shadow root of its own. */
export function createHost(bot: BotConfig, options: Options, onClick: () => void): Host {
  const [chat, again] = launcherWords(options.lang);
  const label = bot.name ? `${chat}: ${bot.name}` : chat;
  const hint = el("p", { class: "hint", role: "alert" });
  const button = el(
    "button",
    { class: "launcher", type: "button", "aria-label": label, "aria-expanded": "false", onclick: onClick },
    icon("M12 4c-5 0-9 3.2-9 7.3 0 2.1 1 4 2.7 5.3L5 20.5l4.3-2.1c.9.2 1.8.3 2.7.3 5 0 9-3.3 9-7.4S17 4 12 4z"),
  );
  const root = el(
    "section",
    { class: "root", "aria-label": label, dir: options.rightToLeft ? "rtl" : "ltr" },
    hint,
    button,
  );
  const left = (options.position ?? bot.position) === "bottom-left";
  root.dataset.side = left ? "left" : "right";
  applyConfig(root.style, bot);
  const element = document.createElement("parley-widget");
  const shadow = element.attachShadow({ mode: "open" });
  addStyles(shadow, css);
  shadow.append(root);
  return {
    element,
    root,
    button,
    failed(yes) {
      hint.textContent = yes ? again : "";
    },
  };
}

function applyConfig(style: CSSStyleDeclaration, bot: BotConfig): void {
  const primary = parseColor(bot.primary_color);
  style.setProperty("--parley-primary", `rgb(${primary})`);
  style.setProperty("--parley-on-primary", inkOn(primary));
  style.setProperty("--parley-radius", `${bot.border_radius}px`);
  style.fontFamily = `${bot.font_family ? `${bot.font_family},` : ""}system-ui,sans-serif`;
  for (const [name, value] of Object.entries(bot.custom_css_vars)) {
    if (name.startsWith("--")) {
      style.setProperty(name, value);
    }
  }
}

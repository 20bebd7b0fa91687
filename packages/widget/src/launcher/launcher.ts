import { parseColor, textColorOn } from "../shared/color.ts";
import { addStyles, createElement, createIcon } from "../shared/dom.ts";
import type { BotConfig } from "../shared/types.ts";
import css from "./launcher.css";
import type { Options } from "./options.ts";
import { createLabel, selectLabelLanguage } from "./words.ts";

/** The part of the widget that is on the page before the visitor opens the panel. */
export interface Launcher {
  readonly bot: BotConfig;
  /** The custom element to insert into the page. */
  readonly element: HTMLElement;
  /** The element in the shadow root that contains the button and, later, the panel. */
  readonly root: HTMLElement;
  readonly button: HTMLButtonElement;
  /** The notice that the panel could not be loaded. It is in the root only after that has happened. */
  readonly loadError: HTMLElement;
}

export function createLauncher(bot: BotConfig, options: Options, onClick: () => void): Launcher {
  const label = createLabel(options.lang, bot.name);
  const loadError = createElement("p", { class: "load-error", role: "alert", dir: "auto" });
  const button = createElement(
    "button",
    { class: "launcher", "aria-label": label, "aria-expanded": "false", onclick: onClick },
    createIcon("M12 4c-5 0-9 3.2-9 7.3 0 2.1 1 4 2.7 5.3L5 20.5l4.3-2.1c.9.2 1.8.3 2.7.3 5 0 9-3.3 9-7.4S17 4 12 4z"),
  );
  const root = createElement(
    "section",
    {
      class: "root",
      lang: selectLabelLanguage(options.lang),
      "aria-label": label,
      "data-position": options.position ?? bot.position,
      "data-launcher": options.launcher ?? "",
    },
    button,
  );
  applyConfig(root.style, bot, options);
  const element = document.createElement("parley-widget");
  const shadow = element.attachShadow({ mode: "open" });
  addStyles(shadow, css);
  shadow.append(root);
  return { bot, element, root, button, loadError };
}

function applyConfig(style: CSSStyleDeclaration, bot: BotConfig, { offsets }: Options): void {
  const primary = parseColor(bot.primary_color);
  const variables = {
    "--parley-primary": `rgb(${primary})`,
    "--parley-on-primary": textColorOn(primary),
    "--parley-radius": `${bot.border_radius}px`,
    ...bot.custom_css_vars,
    ...offsets,
  };
  for (const [name, value] of Object.entries(variables)) {
    if (name.startsWith("--")) {
      style.setProperty(name, value);
    }
  }
  style.fontFamily = `${bot.font_family || "system-ui"},system-ui,sans-serif`;
}

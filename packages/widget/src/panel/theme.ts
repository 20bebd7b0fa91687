import { accentOn, parseColor, toHex } from "../shared/color.ts";
import type { PanelContext } from "../shared/types.ts";

/** What text in the accent colour stands on: the panel and an answer's bubble, as in panel.css. */
const SURFACES = { light: ["#ffffff", "#f1f3f6"], dark: ["#16181d", "#242830"] } as const;

/** Applies the bot's theme, and follows the system's where the bot says so. */
export function applyTheme({ bot, root, signal }: PanelContext): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const dark = bot.theme_mode === "system" ? system.matches : bot.theme_mode === "dark";
    const theme = dark ? "dark" : "light";
    root.dataset.theme = theme;
    const accent = accentOn(parseColor(bot.primary_color), SURFACES[theme].map(parseColor), dark ? 255 : 0);
    root.style.setProperty("--accent", toHex(accent));
  };
  system.addEventListener("change", apply, { signal });
  apply();
}

import { ensureContrast, parseColor } from "../shared/color.ts";
import type { PanelContext } from "../shared/types.ts";

/** The backgrounds of accent-coloured text: the panel and a reply's bubble. The same values as in panel.css. */
const BACKGROUNDS = { light: ["#ffffff", "#f1f3f6"], dark: ["#16181d", "#242830"] } as const;

export function applyTheme({ bot, theme: mode = bot.theme_mode, root, signal }: PanelContext): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const isDark = mode === "system" ? system.matches : mode === "dark";
    const theme = isDark ? "dark" : "light";
    root.dataset.theme = theme;
    const accent = ensureContrast(parseColor(bot.primary_color), BACKGROUNDS[theme].map(parseColor), isDark ? 255 : 0);
    root.style.setProperty("--accent", `rgb(${accent})`);
  };
  system.addEventListener("change", apply, { signal });
  apply();
}

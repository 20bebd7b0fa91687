/** The options of the sample shop's settings form. The first option of each setting is the default. "bot" means the bot's own configuration. */
export const OPTIONS = {
  theme: ["bot", "light", "dark", "system"],
  position: ["bot", "bottom-right", "bottom-left"],
  lang: ["en", "ar", "de", "es", "fr", "he", "it", "ja", "nl", "pl", "pt", "zh"],
  dir: ["ltr", "rtl"],
} as const;

type Setting = keyof typeof OPTIONS;

export type Settings = Readonly<Record<Setting, string>>;

/** Reads the settings from a query. Invalid values count as missing. */
export function readSettings(query: URLSearchParams): Settings {
  const read = (name: Setting) => {
    const options: readonly string[] = OPTIONS[name];
    const chosen = query.get(name) ?? "";
    return options.includes(chosen) ? chosen : (options[0] as string);
  };
  return { theme: read("theme"), position: read("position"), lang: read("lang"), dir: read("dir") };
}

/** Returns the widget attributes for the settings. */
export function widgetAttributes({ theme, position, lang }: Settings): Readonly<Record<string, string>> {
  return {
    ...(theme === "bot" ? {} : { "data-theme": theme }),
    ...(position === "bot" ? {} : { "data-position": position }),
    ...(lang === "en" ? {} : { "data-lang": lang }),
  };
}

/** Returns the query string for links to other pages; empty for the default settings. */
export function settingsQuery(settings: Settings): string {
  const chosen = Object.entries(settings).filter(([name, value]) => value !== OPTIONS[name as Setting][0]);
  return chosen.length > 0 ? `?${new URLSearchParams(chosen)}` : "";
}

/** What the sample shop's switch offers; the first of each is what its page says without a choice. */
export const CHOICES = {
  theme: ["bot", "light", "dark", "system"],
  position: ["bot", "bottom-right", "bottom-left"],
  lang: ["en", "ar", "de", "es", "fr", "he", "it", "ja", "nl", "pl", "pt", "zh"],
  dir: ["ltr", "rtl"],
} as const;

type Choice = keyof typeof CHOICES;

/** One value for each switch. */
export type Choices = Readonly<Record<Choice, string>>;

/** Reads the choices from a query; what is not offered is as if it were not there. */
export function readChoices(query: URLSearchParams): Choices {
  const read = (name: Choice) => {
    const offered: readonly string[] = CHOICES[name];
    const chosen = query.get(name) ?? "";
    return offered.includes(chosen) ? chosen : (offered[0] as string);
  };
  return { theme: read("theme"), position: read("position"), lang: read("lang"), dir: read("dir") };
}

/** The attributes of the widget's script element for these choices; "bot" leaves it to the bot's configuration. */
export function widgetAttributes({ theme, position, lang }: Choices): Readonly<Record<string, string>> {
  return {
    ...(theme === "bot" ? {} : { "data-theme": theme }),
    ...(position === "bot" ? {} : { "data-position": position }),
    ...(lang === "en" ? {} : { "data-lang": lang }),
  };
}

/** The query that keeps these choices from page to page; empty when nothing was chosen. */
export function choicesQuery(choices: Choices): string {
  const chosen = Object.entries(choices).filter(([name, value]) => value !== CHOICES[name as Choice][0]);
  return chosen.length > 0 ? `?${new URLSearchParams(chosen)}` : "";
}

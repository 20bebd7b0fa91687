/** The options of the sample shop's settings form. The first of each is the default. */
export const CHOICES = {
  theme: ["bot", "light", "dark", "system"],
  position: ["bot", "bottom-right", "bottom-left"],
  lang: ["en", "ar", "de", "es", "fr", "he", "it", "ja", "nl", "pl", "pt", "zh"],
  dir: ["ltr", "rtl"],
} as const;

type Choice = keyof typeof CHOICES;

/** The selected value of each setting. */
export type Choices = Readonly<Record<Choice, string>>;

/** Reads the choices from a query. Invalid values count as missing. */
export function readChoices(query: URLSearchParams): Choices {
  const read = (name: Choice) => {
    const options: readonly string[] = CHOICES[name];
    const chosen = query.get(name) ?? "";
    return options.includes(chosen) ? chosen : (options[0] as string);
  };
  return { theme: read("theme"), position: read("position"), lang: read("lang"), dir: read("dir") };
}

/** Returns the widget attributes for the choices. "bot" means the bot's own configuration. */
export function widgetAttributes({ theme, position, lang }: Choices): Readonly<Record<string, string>> {
  return {
    ...(theme === "bot" ? {} : { "data-theme": theme }),
    ...(position === "bot" ? {} : { "data-position": position }),
    ...(lang === "en" ? {} : { "data-lang": lang }),
  };
}

/** Returns the query string for links to other pages; empty for the default choices. */
export function choicesQuery(choices: Choices): string {
  const chosen = Object.entries(choices).filter(([name, value]) => value !== CHOICES[name as Choice][0]);
  return chosen.length > 0 ? `?${new URLSearchParams(chosen)}` : "";
}

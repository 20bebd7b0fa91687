import translations from "./translations.json" with { type: "json" };

/** The language of the texts in the code. It needs no translations. */
export const ENGLISH = "en";
/** By language, then by English text, as in the console's catalogues. */
const TRANSLATIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = translations;
const RIGHT_TO_LEFT = new Set(["ar", "he"]);

/** The languages of the messages: those of the console. */
export const LANGUAGES: readonly string[] = [ENGLISH, ...Object.keys(TRANSLATIONS)].toSorted((a, b) =>
  a.localeCompare(b),
);

export const directionOf = (language: string): "ltr" | "rtl" => (RIGHT_TO_LEFT.has(language) ? "rtl" : "ltr");

/** Replaces `{name}` in the text's translation by the value. A text without translation stays English. */
export function translate(language: string, text: string, values: Readonly<Record<string, string>> = {}): string {
  const translated = TRANSLATIONS[language]?.[text] ?? text;
  return translated.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
}

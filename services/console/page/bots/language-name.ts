const names = new Intl.DisplayNames("en", { type: "language" });

/** Returns the English name of a language such as `pt-pt`. */
export function languageName(language: string): string {
  return names.of(language) ?? language;
}

import { getLocale } from "../i18n/language.ts";

const NAMES = new Intl.DisplayNames(getLocale(), { type: "language" });

/** Returns the name of a language such as `pt-pt` in the user's language. */
export function languageName(language: string): string {
  return NAMES.of(language) ?? language;
}

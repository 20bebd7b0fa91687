import { getLocale } from "../i18n/language.ts";

const NAMES = new Intl.DisplayNames(getLocale(), { type: "language" });
const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
/** Two-letter codes by the English name of their language, such as `de` by `german`. */
const CODES = createCodes();

/**
 * Returns the name of a document's language in the user's language. The service names it in English, such as `german`. Returns an empty string for
 * `simple`: words in no known language are compared as they are.
 */
export function documentLanguage(language: string): string {
  if (language === "simple") return "";
  const code = CODES.get(language);
  return code === undefined ? language : (NAMES.of(code) ?? language);
}

function createCodes(): ReadonlyMap<string, string> {
  const english = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
  const codes = LETTERS.flatMap((first) => LETTERS.map((second) => first + second));
  return new Map(codes.map((code) => [english.of(code)?.toLowerCase() ?? "", code]));
}

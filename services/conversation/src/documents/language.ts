/** What PostgreSQL can bring the words of a language to their stem with, by the language's two-letter code. */
export const LANGUAGES = {
  ar: "arabic",
  hy: "armenian",
  eu: "basque",
  ca: "catalan",
  da: "danish",
  nl: "dutch",
  en: "english",
  fi: "finnish",
  fr: "french",
  de: "german",
  el: "greek",
  hi: "hindi",
  hu: "hungarian",
  id: "indonesian",
  ga: "irish",
  it: "italian",
  lt: "lithuanian",
  ne: "nepali",
  no: "norwegian",
  pt: "portuguese",
  ro: "romanian",
  ru: "russian",
  sr: "serbian",
  es: "spanish",
  sv: "swedish",
  ta: "tamil",
  tr: "turkish",
  yi: "yiddish",
} as const;

/** The words of any other language are compared as they stand. */
export const ANY_LANGUAGE = "simple";

export type LanguageName = (typeof LANGUAGES)[keyof typeof LANGUAGES] | typeof ANY_LANGUAGE;

const NAMES: readonly string[] = [...Object.values(LANGUAGES), ANY_LANGUAGE];

/** Reads a language's name or two-letter code (`german`, `de`, `de-AT`); undefined for one we do not know. */
export function parseLanguage(text: string): LanguageName | undefined {
  const lower = text.trim().toLowerCase();
  if (NAMES.includes(lower)) return lower as LanguageName;
  const code = lower.split(/[-_]/)[0] === "nb" ? "no" : lower.split(/[-_]/)[0];
  return LANGUAGES[code as keyof typeof LANGUAGES];
}

/** Languages whose small words PostgreSQL has lists of, so that a text can be told by them. */
export const TOLD_BY_STOP_WORDS: readonly LanguageName[] = [
  "english",
  "german",
  "french",
  "spanish",
  "italian",
  "portuguese",
  "dutch",
  "danish",
  "swedish",
  "norwegian",
  "finnish",
  "hungarian",
  "russian",
  "turkish",
];

const TOLD_BY_SCRIPT: readonly [RegExp, LanguageName][] = [
  [/\p{Script=Greek}/u, "greek"],
  [/\p{Script=Arabic}/u, "arabic"],
  [/\p{Script=Armenian}/u, "armenian"],
  [/\p{Script=Devanagari}/u, "hindi"],
  [/\p{Script=Tamil}/u, "tamil"],
  [/\p{Script=Hebrew}/u, ANY_LANGUAGE],
];

/** A text shorter than this may hold no small word at all. */
const FEW_WORDS = 30;
const MIN_SHARE = 0.12;

/**
 * The language of a text, by the script of its words and else by how many of them are small words of each language.
 *
 * @param words of the text's beginning
 * @param stopWords how many of `words` each of TOLD_BY_STOP_WORDS has on its list
 */
export function tellLanguage(words: readonly string[], stopWords: ReadonlyMap<LanguageName, number>): LanguageName {
  const half = words.length / 2;
  for (const [script, language] of TOLD_BY_SCRIPT)
    if (words.length > 0 && words.filter((word) => script.test(word)).length > half) return language;
  const [best, hits] = [...stopWords].reduce((one, other) => (other[1] > one[1] ? other : one), [
    "english",
    0,
  ] as const);
  const isEnough = hits >= MIN_SHARE * words.length && hits > 0;
  if (isEnough) return best;
  // A name, a price list: of languages with our letters, English is the likeliest.
  return words.length < FEW_WORDS && words.every((word) => /^[\p{ASCII}]*$/u.test(word)) ? "english" : ANY_LANGUAGE;
}

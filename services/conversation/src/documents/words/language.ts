/** PostgreSQL's text search configurations, by two-letter language code. */
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

/** Configuration for all other languages. It does not stem words. */
export const UNSTEMMED = "simple";

export type LanguageName = (typeof LANGUAGES)[keyof typeof LANGUAGES] | typeof UNSTEMMED;

const NAMES: readonly string[] = [...Object.values(LANGUAGES), UNSTEMMED];

/** Parses a language's name or code (`german`, `de`, `de-AT`). Returns undefined for an unknown language. */
export function parseLanguage(text: string): LanguageName | undefined {
  const lower = text.trim().toLowerCase();
  if (NAMES.includes(lower)) return lower as LanguageName;
  const [code = ""] = lower.split(/[-_]/);
  // Bokmål (nb) is the usual written form of Norwegian (no).
  const key = code === "nb" ? "no" : code;
  return Object.hasOwn(LANGUAGES, key) ? LANGUAGES[key as keyof typeof LANGUAGES] : undefined;
}

/** Languages that are detected by their stop words, which PostgreSQL lists. */
export const STOP_WORD_LANGUAGES: readonly LanguageName[] = [
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

/** Languages that are detected by their script. */
const SCRIPT_LANGUAGES: readonly [RegExp, LanguageName][] = [
  [/\p{Script=Greek}/u, "greek"],
  [/\p{Script=Arabic}/u, "arabic"],
  [/\p{Script=Armenian}/u, "armenian"],
  [/\p{Script=Devanagari}/u, "hindi"],
  [/\p{Script=Tamil}/u, "tamil"],
  // Hebrew, which PostgreSQL cannot stem, is more likely than Yiddish.
  [/\p{Script=Hebrew}/u, UNSTEMMED],
];

/** A text of fewer words can lack stop words by chance. */
const MIN_WORDS = 30;
/** The smallest share of stop words in an ordinary text. */
const MIN_SHARE = 0.12;

/**
 * Chooses a text's language by the script of most words, or else by the largest number of stop words.
 *
 * @param words first words of the text
 * @param stopWords number of `words` that are stop words, for each of STOP_WORD_LANGUAGES
 */
export function chooseLanguage(words: readonly string[], stopWords: ReadonlyMap<LanguageName, number>): LanguageName {
  const half = words.length / 2;
  for (const [script, language] of SCRIPT_LANGUAGES)
    if (words.length > 0 && words.filter((word) => script.test(word)).length > half) return language;
  const [best, hits] = [...stopWords].reduce((one, other) => (other[1] > one[1] ? other : one), [
    "english",
    0,
  ] as const);
  if (hits > 0 && hits >= MIN_SHARE * words.length) return best;
  // For a short text in ASCII, such as a name or a price list, English is the most likely language.
  return words.length < MIN_WORDS && words.every((word) => /^[\p{ASCII}]*$/u.test(word)) ? "english" : UNSTEMMED;
}

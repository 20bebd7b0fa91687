import type { Language } from "./language.ts";

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** Returns the words of a text in lower case, in order. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  for (const { segment, isWordLike } of segmenter.segment(text.normalize("NFKC").replaceAll("’", "'"))) {
    if (isWordLike) words.push(segment.toLowerCase());
  }
  return words;
}

/** Returns the stems of a text's words, without stop words and accents, each once and in order. */
export function extractTerms(text: string, language: Language): Set<string> {
  const words = splitWords(text).filter((word) => !language.stopWords.has(word));
  return new Set(words.map((word) => removeAccents(language.stem(word.replace(/'s?$/, "")))));
}

function removeAccents(word: string): string {
  return word.normalize("NFD").replace(/\p{M}/gu, "");
}

const MIN_MISSPELT_LENGTH = 5;

/**
 * Whether two words differ by at most one misspelling: a letter that is added, missing, wrong, or swapped with the next. False if both words are
 * shorter than MIN_MISSPELT_LENGTH.
 */
export function isMisspelling(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (long.length < MIN_MISSPELT_LENGTH || long.length - short.length > 1) return false;
  let index = 0;
  while (index < short.length && short[index] === long[index]) index++;
  const rest = short.slice(index);
  if (short.length < long.length) return rest === long.slice(index + 1);
  const swapped = short[index] === long[index + 1] && short[index + 1] === long[index];
  return rest.slice(1) === long.slice(index + 1) || (swapped && rest.slice(2) === long.slice(index + 2));
}

import { removeAccents } from "./accents.ts";
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
  const words = splitWords(text)
    .map(removeElision)
    .filter((word) => !language.stopWords.has(word));
  return new Set(words.map((word) => stemWord(word, language)));
}

/** Returns the stem of a word in lower case, without accents. */
export function stemWord(word: string, { stem }: Language): string {
  return removeAccents(stem(word.replace(/'s?$/, "")));
}

/** Removes an article, preposition or pronoun without its last vowel, as in "l'arrivée" and "dell'albergo". */
export function removeElision(word: string): string {
  return word.replace(ELISION, "");
}

const ELISION = /^(?:[cdjlmnst]|qu|jusqu|lorsqu|un|gl|dell|all|nell|dall|sull|quell|quest)'(?=\p{L})/u;

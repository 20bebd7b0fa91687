import { listSpellings, type Spelling } from "./spellings.ts";

const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });
/** Matches an upper-case letter that starts a new part (`keepAlive`, `HTTPServer`), or letters joined by `.`, `_` or `:` (`request.body`). */
const COMPOUND = /[\p{Ll}\p{N}]\p{Lu}|\p{L}[._:]\p{L}|\p{Lu}\p{Lu}\p{Ll}/u;
const PARTS = /\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+(?!\p{Ll})|[\p{L}\p{M}]+|\p{N}+/gu;
/** Longer words are data rather than language, and PostgreSQL limits the length of a lexeme. */
const MAX_WORD_CHARACTERS = 100;

/**
 * Returns the words of a text for indexing and searching, in lower case and in order. Also segments scripts that have no spaces between words.
 * A compound identifier (`keepAliveTimeout`, `request.body`) is followed by its parts, because people search for either.
 */
export function tokenize(text: string): string[] {
  const words: string[] = [];
  for (const { segment, isWordLike } of WORDS.segment(normalize(text))) {
    if (!isWordLike || segment.length > MAX_WORD_CHARACTERS) continue;
    const word = segment.replace(/^[_.']+|[_.']+$/g, "");
    const parts = COMPOUND.test(word) ? (word.match(PARTS) ?? []) : [];
    for (const each of parts.length > 1 ? [word, ...parts] : [word]) if (each !== "") words.push(each.toLowerCase());
  }
  return words;
}

/** Returns the words of a text and their other spellings. `isIndexed`: see listSpellings. */
export function tokenizeWithSpellings(
  text: string,
  options?: { isIndexed?: boolean },
): { words: string[]; spellings: Spelling[] } {
  const words = tokenize(text);
  return { words, spellings: listSpellings(normalize(text), words, options) };
}

/** Removes soft hyphens too, which are within words. */
function normalize(text: string): string {
  return text.normalize("NFKC").replaceAll("’", "'").replaceAll("\u00ad", "");
}

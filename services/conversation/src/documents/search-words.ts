const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });
const PARTS = /\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+(?!\p{Ll})|[\p{L}\p{M}]+|\p{N}+/gu;
/** Beyond this a word is data and not language, and PostgreSQL would not take it. */
const MAX_WORD_CHARACTERS = 100;

/**
 * The words that a text is found by, in lower case and in order: those of any script, also of those that put no space between words. A
 * word made of several (`keepAliveTimeout`, `request.body`) is followed by its parts, as people ask for either.
 */
export function searchWords(text: string): string[] {
  const words: string[] = [];
  for (const { segment, isWordLike } of WORDS.segment(text.normalize("NFKC").replaceAll("’", "'"))) {
    if (!isWordLike || segment.length > MAX_WORD_CHARACTERS) continue;
    const whole = segment.replace(/^[_.']+|[_.']+$/g, "");
    const parts = /[\p{Ll}\p{N}]\p{Lu}|\p{L}[._:]\p{L}|\p{Lu}\p{Lu}\p{Ll}/u.test(whole)
      ? (whole.match(PARTS) ?? [])
      : [];
    for (const word of parts.length > 1 ? [whole, ...parts] : [whole]) if (word !== "") words.push(word.toLowerCase());
  }
  return words;
}

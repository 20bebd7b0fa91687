export function removeAccents(word: string): string {
  return word.normalize("NFD").replace(/\p{M}/gu, "");
}

/** Returns the words of a list, also without their accents, because visitors often leave them out. */
export function toWordSet(words: readonly string[]): Set<string> {
  return new Set(words.flatMap((word) => [word, removeAccents(word)]));
}

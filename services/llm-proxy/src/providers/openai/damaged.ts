/**
 * A key of `object` that is `name` but for one byte turned over on its way, where `name` itself is missing. Such a chunk is valid JSON,
 * and what it says would be passed over as a field nobody knows.
 */
export function damagedKey(object: object, name: string): string | undefined {
  return Object.hasOwn(object, name) ? undefined : Object.keys(object).find((key) => isDamaged(key, name));
}

/** Whether one character of a word stands in the place of another; or, with a backslash in JSON, in that of two. */
export function isDamaged(word: string, name: string): boolean {
  let start = 0;
  while (start < word.length && word[start] === name[start]) start++;
  let [wordEnd, nameEnd] = [word.length, name.length];
  while (wordEnd > start && nameEnd > start && word[wordEnd - 1] === name[nameEnd - 1]) {
    wordEnd--;
    nameEnd--;
  }
  const replaced = nameEnd - start;
  return wordEnd - start === 1 && (replaced === 1 || replaced === 2);
}

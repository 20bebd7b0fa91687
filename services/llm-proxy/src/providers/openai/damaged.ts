/**
 * A key of `object` that is `name` but for a byte or two turned over on their way, where `name` itself is missing. Such a chunk is valid JSON,
 * and what it says would be passed over as a field nobody knows.
 */
export function damagedKey(object: object, name: string): string | undefined {
  return Object.hasOwn(object, name) ? undefined : Object.keys(object).find((key) => isDamaged(key, name));
}

/** Whether one or two neighbouring characters of a word stand in the place of others: two become one after a backslash in JSON. */
export function isDamaged(word: string, name: string): boolean {
  let start = 0;
  while (start < word.length && word[start] === name[start]) start++;
  let [wordEnd, nameEnd] = [word.length, name.length];
  while (wordEnd > start && nameEnd > start && word[wordEnd - 1] === name[nameEnd - 1]) {
    wordEnd--;
    nameEnd--;
  }
  return isOneOrTwo(wordEnd - start) && isOneOrTwo(nameEnd - start);
}

const isOneOrTwo = (count: number) => count === 1 || count === 2;

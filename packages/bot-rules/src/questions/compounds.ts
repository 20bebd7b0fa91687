const MIN_COMPOUND_CHARACTERS = 8;
const MIN_PART_CHARACTERS = 4;
/** Letters between the parts of a German compound. */
const LINKS = ["", "s", "n", "en", "es", "er", "e"];

/** Splits a German compound into two known words: "studentenrabatt" into "student" and "rabatt". Returns an empty array if it has no such parts. */
export function splitCompound(word: string, isKnown: (part: string) => boolean): string[] {
  if (word.length < MIN_COMPOUND_CHARACTERS) return [];
  for (let at = MIN_PART_CHARACTERS; at <= word.length - MIN_PART_CHARACTERS; at++) {
    const last = word.slice(at);
    if (!isKnown(last)) continue;
    const beginning = word.slice(0, at);
    const first = LINKS.filter((link) => beginning.endsWith(link))
      .map((link) => beginning.slice(0, beginning.length - link.length))
      .find((part) => part.length >= MIN_PART_CHARACTERS && isKnown(part));
    if (first !== undefined) return [first, last];
  }
  return [];
}

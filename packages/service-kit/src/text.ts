/** Returns whether a text has more than `limit` characters, counted as Unicode code points. */
export function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  // A code point has at most two UTF-16 code units.
  return text.length > limit * 2 || [...text].length > limit;
}

/** Returns the charset that a text's byte order mark names; undefined if the text has no mark. */
export function charsetByMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return first === 0xef && second === 0xbb && third === 0xbf ? "utf-8" : undefined;
}

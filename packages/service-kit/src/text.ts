/** Returns whether a text has more than `limit` characters, counted as Unicode code points. */
export function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  // A code point has at most two UTF-16 code units.
  return text.length > limit * 2 || [...text].length > limit;
}

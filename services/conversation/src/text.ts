/** PostgreSQL stores no NUL; a replacement character keeps the place of one. */
export function withoutNul(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text;
}

/** Whether a text has more than `limit` characters, counted as Unicode code points. */
export function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  // A code point takes at most two units.
  return text.length > limit * 2 || [...text].length > limit;
}

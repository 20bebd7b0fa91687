/** Replaces lone surrogates and NUL with U+FFFD, because PostgreSQL refuses them. */
export function replaceUnstorable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

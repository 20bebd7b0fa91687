/** Replaces the characters that PostgreSQL refuses, lone surrogates and NUL, with U+FFFD. */
export function replaceUnstorable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

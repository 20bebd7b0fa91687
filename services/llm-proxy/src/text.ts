/** Replaces lone surrogates and NUL with U+FFFD, because PostgreSQL refuses them. */
export function replaceUnstorable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

/** Whether a text has a character that a reader sees. */
export function hasVisibleText(text: string): boolean {
  return /[^\s\p{Cc}\p{Cf}]/u.test(text);
}

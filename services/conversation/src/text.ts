/** Replaces each NUL, which PostgreSQL cannot store, with U+FFFD. */
export function withoutNul(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text;
}

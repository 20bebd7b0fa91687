/** Replaces lone surrogates and NUL with U+FFFD, because PostgreSQL refuses them. */
export function replaceUnstorable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

/** Whether a text has a character that a reader sees. */
export function hasVisibleText(text: string): boolean {
  return /[^\s\p{Cc}\p{Cf}]/u.test(text);
}

/** Replaces control and format characters, such as line breaks and marks of text direction, with spaces. */
export function withoutControlCharacters(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim();
}

/** Returns at most `maxCharacters` UTF-16 code units of a text, without a half of a surrogate pair at the end. */
export function cutText(text: string, maxCharacters: number): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1).replace(/[\uD800-\uDBFF]$/, "")}…` : text;
}

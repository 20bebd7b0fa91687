// Control, reordering and invisible characters. Stored text could use them to control the terminal or to mislead the reader.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
// Joiners occur inside emoji and in words of several scripts.
const ALLOWED = new Set(["\u200c", "\u200d"]);
const NAMED_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Makes text safe for one terminal line: replaces invisible characters with escapes such as `\n` or `\u{1b}`. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => (ALLOWED.has(character) ? character : toEscape(character)));
}

/** Same as printable, but keeps line breaks. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(printable).join("\n");
}

function toEscape(character: string): string {
  return NAMED_ESCAPES[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

// Control characters, and those that reorder or hide text: a terminal obeys them, whoever stored them.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
// Joiners stand inside emoji and inside words of several scripts.
const HARMLESS = new Set(["\u200c", "\u200d"]);
const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Text fit for a terminal, on one line: what is not visible is written as an escape such as `\n` or `\u{1b}`. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => (HARMLESS.has(character) ? character : visible(character)));
}

/** As printable, but keeps its lines. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(printable).join("\n");
}

function visible(character: string): string {
  return NAMED[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

import stringWidth from "string-width";

const INDENT = "  ";
// Control, reordering and invisible characters. Stored text could use them to control the terminal or to mislead the reader.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
// Joiners occur inside emoji and in words of several scripts.
const ALLOWED = new Set(["\u200c", "\u200d"]);
const NAMED_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Makes text safe for one terminal line: replaces unsafe characters with escapes such as `\n` or `\u{1b}`. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => (ALLOWED.has(character) ? character : toEscape(character)));
}

/** Same as printable, but keeps line breaks. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(printable).join("\n");
}

/**
 * Replaces the unsafe characters in the strings of JSON.stringify's output with `\uXXXX`, so the result parses to the same value. Unlike
 * `printable`, also replaces joiners. Ignores lone surrogates, because JSON.stringify has already escaped them.
 */
export function printableJson(json: string): string {
  return json.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/**
 * Indents every line of a text, so that no line can imitate the output's own lines. Breaks lines before `width` columns, because a terminal
 * would continue them without the indent.
 */
export function indentedLines(text: string, width: number): string {
  return printableLines(text)
    .split("\n")
    .flatMap((line) => breakLine(line, width - INDENT.length))
    .map((line) => `${INDENT}${line}\n`)
    .join("");
}

function breakLine(line: string, width: number): string[] {
  if (stringWidth(line) < width) return [line];
  const parts = [""];
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    used += stringWidth(segment);
    if (used >= width) {
      parts.push("");
      used = stringWidth(segment);
    }
    parts[parts.length - 1] += segment;
  }
  return parts;
}

function toEscape(character: string): string {
  return NAMED_ESCAPES[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

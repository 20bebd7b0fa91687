// Translates an author's pattern to re2js's syntax, so that it matches texts in their normal form (normalise.ts) and in all scripts.

/** White space beyond re2js's `\s`. NFKC turns other spaces into U+0020. */
const OTHER_WHITE_SPACE = "\\x{b}\\x{85}\\x{1680}\\x{2028}\\x{2029}";
const ESCAPES: Readonly<Record<string, string>> = {
  "\\d": "\\p{Nd}",
  "\\D": "\\P{Nd}",
  "\\s": `[\\s${OTHER_WHITE_SPACE}]`,
  "\\S": `[^\\s${OTHER_WHITE_SPACE}]`,
};
const ESCAPES_IN_CLASS: Readonly<Record<string, string>> = {
  ...ESCAPES,
  "\\s": `\\s${OTHER_WHITE_SPACE}`,
  "\\S": "\\S",
};

/** The letters that `normalise` folds in a pattern as in a text, in NFC. */
const FOLDED_LETTERS = /[ßẞİ]/g;
const TOKEN =
  /\\Q(?:[^\\]|\\(?!E))*(?:\\E)?|\\[pP]\{[^}]*\}|\\x\{[^}]*\}|\\.|\(\?P?<[^>]*>|\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\x\{[^}]*\}|\\.|[^\]\\])*\]?|./gsu;
const CLASS_ESCAPE = /\\./gsu;

/** Returns a pattern in composed form (NFC), like the texts that it is matched against. */
export function composeCharacters(pattern: string): string {
  return pattern.normalize("NFC");
}

/** Returns a pattern's characters that must be in normal form: without those that `toSource` folds itself. */
export function removeFoldedLetters(pattern: string): string {
  return composeCharacters(pattern).replaceAll(FOLDED_LETTERS, "");
}

/** Returns a pattern's source for re2js. */
export function toSource(pattern: string): string {
  return composeCharacters(pattern).replaceAll("i\u0307", "i").replace(TOKEN, translateToken);
}

function translateToken(token: string): string {
  if (token.startsWith("\\Q")) return token.replaceAll(/[ßẞ]/g, "ss").replaceAll("İ", "i");
  if (token.startsWith("\\")) return ESCAPES[token] ?? token;
  if (token.startsWith("(")) return token;
  if (token.startsWith("[") && token.length > 1) return translateClass(token);
  if (token === "İ") return "i";
  return token === "ß" || token === "ẞ" ? "(?:ss)" : token;
}

function translateClass(token: string): string {
  const translated = token
    .replace(CLASS_ESCAPE, (escaped) => ESCAPES_IN_CLASS[escaped] ?? escaped)
    .replaceAll("İ", "i");
  return /[ßẞ]/.test(token) && !token.startsWith("[^") ? `(?:ss|${translated})` : translated;
}

/** Whether a pattern contains one of the escapes, given as a class of letters such as `bB`. */
export function hasEscape(pattern: string, letters: string): boolean {
  return new RegExp(`\\\\[${letters}]`).test(pattern.replaceAll(/\\\\|\\Q(?:[^\\]|\\(?!E))*(?:\\E)?/g, ""));
}

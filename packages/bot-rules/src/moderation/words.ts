// Compiles a list of words to a pattern, so that owners need no regular expressions, and reads the words back from such a pattern.

import { normalise, removeInvisible } from "./normalise.ts";
import { isUnsegmented } from "./scripts.ts";

/** Latin, Greek and Cyrillic letters. */
const ACCENTED_RANGES = [
  [0xc0, 0x24f],
  [0x370, 0x45f],
  [0x1e00, 0x1eff],
] as const;
/** Letters that Unicode does not decompose, although they are written without their stroke or dot where a keyboard lacks them. */
const UNDECOMPOSED: Readonly<Record<string, string>> = { ø: "o", ł: "l", đ: "d", ħ: "h", ı: "i" };
/** Letters of their own for those who write them, although Unicode decomposes them. */
const OWN_LETTERS = "йїў";

/** Lower-case letters with accents, by the letter without accents. */
const VARIANTS = groupVariants();

/** Between the words of a phrase. Has an upper bound, because a pattern for replies must. */
const SPACE = "[\\s-]{1,3}";
/** The parts that `compileWords` writes. The first character of a class is the letter as the owner wrote it. */
const TOKENS = /\\b|\[\\s-\]\{1,3\}|\[(?<letter>.)[^\]]*\]|\\(?<escaped>.)|(?<other>[^\\[\]])/gsu;

/**
 * Returns a pattern that matches each of the words and phrases as a whole, whatever its accents. `normaliseWord` must have returned each of them.
 * Words of scripts without spaces between words match anywhere.
 */
export function compileWords(words: readonly string[]): string {
  return `(?:${words.map(compileWord).join("|")})`;
}

/** Returns the words of a pattern that `compileWords` has returned; undefined for any other pattern. */
export function parseWords(pattern: string): string[] | undefined {
  if (!pattern.startsWith("(?:") || !pattern.endsWith(")")) return undefined;
  // No class contains a bar.
  const alternatives = pattern.slice(3, -1).match(/(?:\\.|[^\\|])+/gsu) ?? [""];
  const words = alternatives.map((each) => each.replaceAll(TOKENS, readToken));
  return compileWords(words) === pattern && words.every((each) => each !== "" && normaliseWord(each) === each)
    ? words
    : undefined;
}

/** Returns a word or phrase in the form that `compileWords` accepts; empty if it has no visible character. */
export function normaliseWord(word: string): string {
  return removeInvisible(word).normalize("NFKC").trim().replaceAll(/\s+/g, " ");
}

function compileWord(word: string): string {
  const characters = [...word];
  const boundary = (character: string | undefined) => (isBounded(character ?? "") ? "\\b" : "");
  return boundary(characters[0]) + characters.map(compileCharacter).join("") + boundary(characters.at(-1));
}

/** Whether `\b` can find the word's end at this character. */
function isBounded(character: string): boolean {
  return /[\p{L}\p{M}\p{Nd}]/u.test(character) && !isUnsegmented(character);
}

function compileCharacter(character: string): string {
  if (character === " ") return SPACE;
  const base = baseOf(character);
  const variants = VARIANTS.get(base);
  if (variants === undefined) return character.replace(/[\\^$.*+?()[\]{}|]/, "\\$&");
  return `[${character}${[base, ...variants].filter((each) => each !== character.toLowerCase()).join("")}]`;
}

function readToken(token: string, ...rest: unknown[]): string {
  if (token === "\\b") return "";
  if (token === SPACE) return " ";
  const { letter, escaped, other } = rest.at(-1) as Record<string, string | undefined>;
  return letter ?? escaped ?? other ?? "";
}

/** Returns a letter in lower case without its accents. */
function baseOf(character: string): string {
  const letter = character.toLowerCase();
  if (OWN_LETTERS.includes(letter)) return letter;
  return UNDECOMPOSED[letter] ?? [...letter.normalize("NFD")][0] ?? letter;
}

function groupVariants(): ReadonlyMap<string, readonly string[]> {
  const letters = ACCENTED_RANGES.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index)),
  );
  const variants = letters.filter(
    (each) => each === each.toLowerCase() && normalise(each) === each && baseOf(each) !== each,
  );
  return Map.groupBy(variants, baseOf);
}

/** A word as other people may write it. */
export type Spelling = {
  word: string;
  /** The words of the text that it stands for: `wi` and `fi` for `wifi`. */
  of: readonly string[];
};

/** Matches words that are joined by hyphens, of which at least one has a letter: Wi-Fi, T-shirt, AB-1234. */
const HYPHENATED = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:[-‐‑][\p{L}\p{N}][\p{L}\p{M}\p{N}]*){1,3}/gu;
const MAX_JOINED_CHARACTERS = 40;
const HAS_LETTER = /\p{L}/u;
/** Matches a word of letters and numbers: 10kg, AB1234, 1.5l. */
const MIXED = /^(?=.*\p{L})(?=.*\p{N})[\p{L}\p{M}\p{N}.,]+$/u;
/** Matches words of one number and one letter, such as 3d, but no measures, such as 2m: their parts alone say nothing. */
const SINGLE_PARTS = /^(?:\p{N}[^ghlmw]|\p{L}\p{N})$/u;
const MIXED_PARTS = /\p{N}+(?:[.,]\p{N}+)*|[\p{L}\p{M}]+/gu;
const MAX_MIXED_PARTS = 4;
/** In other scripts, a mark distinguishes letters that no one confuses: и and й. */
const MARKS = /(?<=[\p{Script=Latin}\p{Script=Greek}]\p{M}*)\p{M}/gu;
const LETTERS: Readonly<Record<string, string>> = {
  ...{ ı: "i", ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ё: "е" },
  ...{ أ: "ا", إ: "ا", آ: "ا", ى: "ي", ة: "ه", ـ: "" },
};
const FOLDED_LETTERS = new RegExp(`[${Object.keys(LETTERS).join("")}]`, "gu");
/** Vowel marks of Arabic and Hebrew, which are rarely written. */
const VOWEL_MARKS = /[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u0652\u0670]/gu;
const UMLAUTS: Readonly<Record<string, string>> = { ä: "ae", ö: "oe", ü: "ue" };
const HANGUL = /^\p{Script=Hangul}{3,}$/u;
const MAX_STEM_SYLLABLES = 4;

/**
 * Returns other spellings of the words of a text, without those that are among `words`, its words from tokenize. `text` is in the form that tokenize
 * normalizes it to.
 *
 * - Hyphenated words are joined (Wi-Fi), and letters are separated from numbers (10kg).
 * - Diacritics are removed (reçu), also the dots of a Turkish i; an umlaut may also be written with an e.
 * - A Korean word has its beginnings, because particles are attached to nouns. Of a text to index, it also has all pairs of syllables, because
 *   nouns are compounded.
 */
export function listSpellings(
  text: string,
  words: readonly string[],
  options: { isIndexed?: boolean } = {},
): Spelling[] {
  const known = new Set(words);
  const found = new Map<string, Spelling>();
  const add = (word: string, of: readonly string[]) => {
    if (word !== "" && !known.has(word) && !found.has(word)) found.set(word, { word, of });
  };
  for (const [hyphenated] of text.matchAll(HYPHENATED)) {
    const parts = hyphenated.toLowerCase().split(/[-‐‑]/);
    const joined = parts.join("");
    if (joined.length > MAX_JOINED_CHARACTERS || !HAS_LETTER.test(joined)) continue;
    add(joined, parts);
    add(fold(joined), parts);
  }
  for (const word of known) {
    if (/^[a-z']*$/.test(word)) continue;
    add(fold(word), [word]);
    add(fold(word.normalize("NFC").replace(/[äöü]/g, (letter) => UMLAUTS[letter] ?? letter)), [word]);
    const parts = MIXED.test(word) && !SINGLE_PARTS.test(word) ? (word.match(MIXED_PARTS) ?? []) : [];
    if (parts.length <= MAX_MIXED_PARTS) for (const part of parts) add(part, [word]);
    if (HANGUL.test(word)) for (const part of partsOfKorean(word, options.isIndexed === true)) add(part, [word]);
  }
  return [...found.values()];
}

/** Removes diacritics from a word in lower case. */
function fold(word: string): string {
  return word
    .normalize("NFD")
    .replace(MARKS, "")
    .replace(VOWEL_MARKS, "")
    .normalize("NFC")
    .replace(FOLDED_LETTERS, (letter) => LETTERS[letter] ?? letter);
}

function* partsOfKorean(word: string, withPairs: boolean): Generator<string> {
  for (let end = Math.min(word.length - 1, MAX_STEM_SYLLABLES); end >= 2; end--) yield word.slice(0, end);
  if (withPairs) for (let start = 1; start + 2 <= word.length; start++) yield word.slice(start, start + 2);
}

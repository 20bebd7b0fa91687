/** Scripts without spaces between words, as an alternation in a regular expression. */
export const UNSEGMENTED_SCRIPTS = "Han|Hiragana|Katakana|Thai|Lao|Khmer|Myanmar";

const UNSEGMENTED_LETTER = new RegExp(
  `[${UNSEGMENTED_SCRIPTS.replaceAll(/\w+/g, "\\p{Script=$&}").replaceAll("|", "")}]`,
  "u",
);

/** Whether a text contains a letter of a script without spaces between words. */
export function isUnsegmented(text: string): boolean {
  return UNSEGMENTED_LETTER.test(text);
}

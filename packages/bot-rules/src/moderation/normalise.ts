const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;
/** Letters with a case that one other character does not express. re2js ignores the case of all others. */
const WITH_SPECIAL_CASE = /[ßẞİ]|i\u0307/;

/**
 * Returns the text that patterns are matched against: NFKC, without invisible characters, with `ss` for ß and `i` for İ, which is the upper case
 * of i in Turkish. Removes invisible characters before it applies NFKC, because an invisible character could separate a letter from its accent.
 */
export function normalise(text: string): string {
  const composed = removeInvisible(text).normalize("NFKC");
  if (!WITH_SPECIAL_CASE.test(composed)) return composed;
  // A mark that follows may compose with the new letter.
  return composed
    .replaceAll(/[ßẞ]/g, "ss")
    .replaceAll(/İ|i\u0307/g, "i")
    .normalize("NFKC");
}

export function removeInvisible(text: string): string {
  return text.replace(INVISIBLE, "");
}

const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * Returns the normal form that patterns are matched against. Removes invisible characters, then applies NFKC, which composes letters with
 * their accents and replaces full-width letters, ligatures and similar characters with plain letters. An invisible character could separate
 * a letter from its accent, so it is removed first. NFKC creates no invisible characters.
 */
export function normalise(text: string): string {
  return text.replace(INVISIBLE, "").normalize("NFKC");
}

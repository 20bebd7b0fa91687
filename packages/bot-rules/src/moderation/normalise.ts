const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * Returns the text that patterns are matched against: NFKC, without invisible characters. Removes these characters before it applies NFKC, because
 * an invisible character could separate a letter from its accent.
 */
export function normalise(text: string): string {
  return text.replace(INVISIBLE, "").normalize("NFKC");
}

const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * Returns the text that patterns are matched against: NFKC, without invisible characters. They are removed first, because one of them could
 * separate a letter from its accent.
 */
export function normalise(text: string): string {
  return text.replace(INVISIBLE, "").normalize("NFKC");
}

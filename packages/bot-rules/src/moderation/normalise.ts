const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * A text as patterns see it: invisible characters taken out, then composed, with compatibility forms folded (full-width letters,
 * ligatures). In this order, so that nothing invisible keeps a letter and its accent apart; folding brings no invisible ones back.
 */
export function normalise(text: string): string {
  return text.replace(INVISIBLE, "").normalize("NFKC");
}

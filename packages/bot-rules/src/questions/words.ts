/** Matches whole words. Scripts without spaces between words have no word boundaries, so their words are in `unspaced`. */
export function words(spaced: string, unspaced?: string, flags = "iu"): RegExp {
  const bounded = `(?<![\\p{L}\\p{N}])(?:${spaced})(?![\\p{L}\\p{N}])`;
  return new RegExp(unspaced === undefined ? bounded : `${bounded}|${unspaced}`, flags);
}

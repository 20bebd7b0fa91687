// A cluster is a character and the following characters that may compose with it: the text between two neighbouring normalization boundaries of
// Unicode. A cluster can be normalised on its own.

/**
 * A part of a text (`raw`) and its normal form. If the two are equal, the reply filter may release the piece in parts, cut between any two
 * characters. If they differ, it releases the piece as a whole.
 */
export type Piece = { raw: string; normalised: string };

const ASCII = /^[\0-\x7f]*$/;

// Invisible characters, marks, and letters that compose with the preceding one: conjoining jamo and Kirat Rai's vowels.
const COMPOSES_WITH_PRECEDING =
  /^[\p{Default_Ignorable_Code_Point}\p{M}\u1160-\u11ff\ud7b0-\ud7ff\u{16d60}-\u{16d7f}]/u;

/**
 * Returns whether a normalization boundary is before this character. At a boundary a text can be split: normalising both parts gives the
 * same result as normalising the text.
 */
export function isClusterStart(character: string): boolean {
  return character <= "\x7f" || !COMPOSES_WITH_PRECEDING.test(character.normalize("NFKD"));
}

/** Returns where the last cluster of a text starts. Appended text does not change the normal form of the text before that cluster. */
export function findLastClusterStart(text: string): number {
  for (let index = text.length; index > 0; ) {
    index -= isLowSurrogate(text.charCodeAt(index - 1)) && index > 1 ? 2 : 1;
    if (isClusterStart(String.fromCodePoint(text.codePointAt(index) ?? 0))) return index;
  }
  return 0;
}

/**
 * Splits a text into pieces: one for each cluster that normalising changes, and one for each run of other clusters. `normalise` must not change
 * ASCII text.
 */
export function* splitIntoPieces(text: string, normalise: (text: string) => string): Generator<Piece> {
  if (text === "") return;
  if (ASCII.test(text)) {
    yield { raw: text, normalised: text };
    return;
  }
  let unchanged = "";
  for (const cluster of splitIntoClusters(text)) {
    const normalised = normalise(cluster);
    if (normalised === cluster) {
      unchanged += cluster;
      continue;
    }
    if (unchanged !== "") yield { raw: unchanged, normalised: unchanged };
    unchanged = "";
    yield { raw: cluster, normalised };
  }
  if (unchanged !== "") yield { raw: unchanged, normalised: unchanged };
}

function* splitIntoClusters(text: string): Generator<string> {
  let cluster = "";
  for (const character of text) {
    if (cluster !== "" && isClusterStart(character)) {
      yield cluster;
      cluster = "";
    }
    cluster += character;
  }
  if (cluster !== "") yield cluster;
}

export function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

// A cluster is the text between two of Unicode's normalization boundaries: a character and those that may compose with it. It can be
// normalised on its own.

/** A part of a text (`raw`) and its normal form. If the two are equal, the piece may be cut anywhere. */
export type Piece = { raw: string; normal: string };

const ASCII = /^[\0-\x7f]*$/;

// Invisible characters, marks, and letters that compose with the preceding one: conjoining jamo and Kirat Rai's vowels.
const COMPOSES_WITH_PRECEDING =
  /^[\p{Default_Ignorable_Code_Point}\p{M}\u1160-\u11ff\ud7b0-\ud7ff\u{16d60}-\u{16d7f}]/u;

/**
 * Returns whether a normalization boundary is before this character. At a boundary a text can be split: normalising both parts gives the
 * same result as normalising the text.
 */
export function startsCluster(character: string): boolean {
  return character <= "\x7f" || !COMPOSES_WITH_PRECEDING.test(character.normalize("NFKD"));
}

/** Returns where the last cluster of a text starts. Text that follows can change the normal form of this cluster only. */
export function lastClusterStart(text: string): number {
  for (let at = text.length; at > 0; ) {
    at -= isLowSurrogate(text.charCodeAt(at - 1)) && at > 1 ? 2 : 1;
    if (startsCluster(String.fromCodePoint(text.codePointAt(at) ?? 0))) return at;
  }
  return 0;
}

/** Splits a text into pieces: one for each cluster that normalising changes, and one for each run of unchanged clusters between them. */
export function* splitIntoPieces(text: string, normalise: (text: string) => string): Generator<Piece> {
  if (text === "") return;
  if (ASCII.test(text)) {
    yield { raw: text, normal: text };
    return;
  }
  let unchanged = "";
  for (const cluster of splitIntoClusters(text)) {
    const normal = normalise(cluster);
    if (normal === cluster) {
      unchanged += cluster;
      continue;
    }
    if (unchanged !== "") yield { raw: unchanged, normal: unchanged };
    unchanged = "";
    yield { raw: cluster, normal };
  }
  if (unchanged !== "") yield { raw: unchanged, normal: unchanged };
}

function* splitIntoClusters(text: string): Generator<string> {
  let cluster = "";
  for (const character of text) {
    if (cluster !== "" && startsCluster(character)) {
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

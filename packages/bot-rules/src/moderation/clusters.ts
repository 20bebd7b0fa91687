/** A piece of a text and its normal form; one that is its own normal form may be divided anywhere. */
export type Piece = { raw: string; normal: string };

const ASCII = /^[\0-\x7f]*$/;

// Invisible characters, marks, and the letters that compose with one before them: conjoining jamo, and Kirat Rai's vowels.
const JOINS_WHAT_PRECEDES = /^[\p{Default_Ignorable_Code_Point}\p{M}\u1160-\u11ff\ud7b0-\ud7ff\u{16d60}-\u{16d7f}]/u;

/** Whether a text may be cut before this character: what precedes it is then normalised alone as it is in the whole. */
export function isBase(character: string): boolean {
  return character <= "\x7f" || !JOINS_WHAT_PRECEDES.test(character.normalize("NFKD"));
}

/** Where the last part of a text begins that more text could still change; its length when there is none. */
export function lastCluster(text: string): number {
  for (let at = text.length; at > 0; ) {
    at -= isLowSurrogate(text.charCodeAt(at - 1)) && at > 1 ? 2 : 1;
    if (isBase(String.fromCodePoint(text.codePointAt(at) ?? 0))) return at;
  }
  return 0;
}

/** A text in pieces, as few as tell which of its characters stay as they are. */
export function* clusters(text: string, normalise: (text: string) => string): Generator<Piece> {
  if (text === "") return;
  if (ASCII.test(text)) {
    yield { raw: text, normal: text };
    return;
  }
  let same = "";
  for (const cluster of split(text)) {
    const normal = normalise(cluster);
    if (normal === cluster) {
      same += cluster;
      continue;
    }
    if (same !== "") yield { raw: same, normal: same };
    same = "";
    yield { raw: cluster, normal };
  }
  if (same !== "") yield { raw: same, normal: same };
}

function* split(text: string): Generator<string> {
  let cluster = "";
  for (const character of text) {
    if (cluster !== "" && isBase(character)) {
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

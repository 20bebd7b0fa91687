import { findLastClusterStart, isLowSurrogate, type Piece, splitIntoPieces } from "./clusters.ts";
import { normalise } from "./normalise.ts";

/**
 * Searches a text as `PatternSet.findFirstMatch` does. `index` is the lowest index of a matching pattern; -1 if none matches. `maxMatchLength` is
 * the length of the longest possible match of any pattern.
 */
export type MatchText = (
  text: string,
  searchFrom: number,
  isTextComplete: boolean,
) => Promise<{ index: number; maxMatchLength: number }>;

/** Limit for the last cluster (see clusters.ts). A longer cluster is not readable text, so the filter does not wait for its end. */
const MAX_PENDING_CHARACTERS = 1_024;
/** Limits the time of one search, which is proportional to the length of the searched text. */
const MAX_SLICE_CHARACTERS = 4_000;

/**
 * Releases a reply as it arrives, but never a character that a pattern matches. Holds back as many characters as the longest possible match
 * has, so no later match can include a released character. A match counts only if more text follows it or the reply has ended, because an
 * assertion at the pattern's end (`\b`, `$`) depends on the text after the match.
 */
export class ReplyFilter {
  readonly #matchText: MatchText;
  #matchedPatternIndex: number | undefined;
  /** The last cluster of the text so far. Text that follows could still change its normal form. */
  #pending = "";
  #heldPieces: Piece[] = [];
  /** The last released character, on which an assertion may depend, and the normal form of the held text. */
  #normalisedText = "";
  /** Length of the released part of `#normalisedText`. */
  #contextLength = 0;

  /** Every pattern of `matchText` must have passed requireReplyPattern. */
  constructor(matchText: MatchText) {
    this.#matchText = matchText;
  }

  /** Index of the pattern that has matched; undefined if none has. After a match no text is released. */
  get matchedPatternIndex(): number | undefined {
    return this.#matchedPatternIndex;
  }

  /** Adds well-formed text of the reply. Returns the text to release. The caller must await each call before the next one. */
  async push(text: string): Promise<string> {
    let released = "";
    for (const slice of splitIntoSlices(text)) released += await this.#pushSlice(slice);
    return released;
  }

  /** Returns the held text, or "" if a pattern has matched. */
  async end(): Promise<string> {
    this.#hold(this.#pending);
    this.#pending = "";
    await this.#search(true);
    return this.#matchedPatternIndex === undefined ? this.#release(Number.POSITIVE_INFINITY) : "";
  }

  async #pushSlice(slice: string): Promise<string> {
    const text = this.#pending + slice;
    const lastClusterStart = findLastClusterStart(text);
    const end = text.length - lastClusterStart > MAX_PENDING_CHARACTERS ? text.length : lastClusterStart;
    this.#pending = text.slice(end);
    this.#hold(text.slice(0, end));
    const maxMatchLength = await this.#search(false);
    return this.#matchedPatternIndex === undefined
      ? this.#release(this.#normalisedText.length - this.#contextLength - maxMatchLength)
      : "";
  }

  /** Searches the held text and records a match. Returns the greatest length that a match can have; 0 if an earlier search matched. */
  async #search(isTextComplete: boolean): Promise<number> {
    if (this.#matchedPatternIndex !== undefined) return 0;
    const { index, maxMatchLength } = await this.#matchText(this.#normalisedText, this.#contextLength, isTextComplete);
    if (index >= 0) this.#matchedPatternIndex = index;
    return maxMatchLength;
  }

  #hold(text: string): void {
    for (const piece of splitIntoPieces(text, normalise)) {
      this.#heldPieces.push(piece);
      this.#normalisedText += piece.normalised;
    }
  }

  /** Releases held text from the front, at most `characters` of its normal form. */
  #release(characters: number): string {
    let released = "";
    let remaining = characters;
    let releasedLength = 0;
    for (let piece = this.#heldPieces[0]; piece !== undefined && remaining > 0; piece = this.#heldPieces[0]) {
      const [head, rest] = splitPiece(piece, remaining);
      if (head === "") break;
      const length = rest === undefined ? piece.normalised.length : head.length;
      released += head;
      remaining -= length;
      releasedLength += length;
      if (rest === undefined) this.#heldPieces.shift();
      else this.#heldPieces[0] = rest;
    }
    this.#trimContext(releasedLength);
    return released;
  }

  /** Drops the released text from `#normalisedText`, except the last released character. */
  #trimContext(releasedLength: number): void {
    if (releasedLength === 0) return;
    const end = this.#contextLength + releasedLength;
    const contextStart = end - (isLowSurrogate(this.#normalisedText.charCodeAt(end - 1)) ? 2 : 1);
    this.#normalisedText = this.#normalisedText.slice(contextStart);
    this.#contextLength = end - contextStart;
  }
}

/**
 * Splits a piece after at most `characters` of its normal form. A piece that normalising changes is not split: the head is all of it or
 * nothing.
 */
function splitPiece(piece: Piece, characters: number): [head: string, rest: Piece | undefined] {
  const { raw, normalised } = piece;
  if (normalised.length <= characters) return [raw, undefined];
  if (raw !== normalised) return ["", piece];
  const cut = isLowSurrogate(raw.charCodeAt(characters)) ? characters - 1 : characters;
  const rest = raw.slice(cut);
  return [raw.slice(0, cut), { raw: rest, normalised: rest }];
}

/** Never splits a surrogate pair. */
function* splitIntoSlices(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const to = from + MAX_SLICE_CHARACTERS;
    const end = isLowSurrogate(text.charCodeAt(to)) ? to + 1 : to;
    yield text.slice(from, end);
    from = end;
  }
}

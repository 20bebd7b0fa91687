import { clusters, isLowSurrogate, lastCluster, type Piece } from "./clusters.ts";
import { normalise } from "./normalise.ts";

/** The first of a reply's patterns that matches a text, as `PatternThreads.match` finds it. */
export type Look = (text: string, from: number, isWhole: boolean) => Promise<{ hit: number; longest: number }>;

/** A run of marks and invisible characters longer than this is no text, and is not waited for. */
const MAX_PENDING_CHARACTERS = 1_024;
/** At most so much text is added for one look, because a look takes time in proportion to its text. */
const MAX_SLICE_CHARACTERS = 4_000;

/**
 * Lets a reply through, piece by piece, without ever letting out a character that a pattern matches. What it lets out lies so far
 * behind what it has seen that no match can still reach it: the length of the longest match of any pattern. A match counts once
 * something follows it, or the reply has ended, because a boundary after it (`\b`, `$`) depends on that.
 */
export class ReplyFilter {
  readonly #look: Look;
  #hit: number | undefined;
  /** The end of what has come: more text could still change its normal form. */
  #pending = "";
  #held: Piece[] = [];
  /** The normal form of what is held, after the last character of what was let out. */
  #normal = "";
  #contextLength = 0;

  /** Every pattern that `look` tries was accepted for replies. */
  constructor(look: Look) {
    this.#look = look;
  }

  /** The index of a pattern, once it has matched: nothing is let out any more. */
  get hit(): number | undefined {
    return this.#hit;
  }

  /** Takes more of the reply, well-formed; returns what may be shown of it now. Must not be called again before it has returned. */
  async push(text: string): Promise<string> {
    let shown = "";
    for (const slice of slices(text)) shown += await this.#pushSlice(slice);
    return shown;
  }

  /** The reply is whole; returns what is left of it to show. */
  async end(): Promise<string> {
    this.#hold(this.#pending);
    this.#pending = "";
    await this.#search(true);
    return this.#hit === undefined ? this.#letOut(Number.POSITIVE_INFINITY) : "";
  }

  async #pushSlice(text: string): Promise<string> {
    const come = this.#pending + text;
    const last = lastCluster(come);
    const cut = come.length - last > MAX_PENDING_CHARACTERS ? come.length : last;
    this.#pending = come.slice(cut);
    this.#hold(come.slice(0, cut));
    const longest = await this.#search(false);
    return this.#hit === undefined ? this.#letOut(this.#normal.length - this.#contextLength - longest) : "";
  }

  /** Looks for a match in what is held; returns the length of the longest match there can be. */
  async #search(isWhole: boolean): Promise<number> {
    if (this.#hit !== undefined) return 0;
    const { hit, longest } = await this.#look(this.#normal, this.#contextLength, isWhole);
    if (hit >= 0) this.#hit = hit;
    return longest;
  }

  #hold(text: string): void {
    for (const piece of clusters(text, normalise)) {
      this.#held.push(piece);
      this.#normal += piece.normal;
    }
  }

  /** Lets out what takes at most so many characters of the normal form, from the front. */
  #letOut(characters: number): string {
    let out = "";
    let left = characters;
    let normalLength = 0;
    for (let piece = this.#held[0]; piece !== undefined && left > 0; piece = this.#held[0]) {
      const [now, later] = divide(piece, left);
      if (now === "") break;
      const length = later === undefined ? piece.normal.length : now.length;
      out += now;
      left -= length;
      normalLength += length;
      if (later === undefined) this.#held.shift();
      else this.#held[0] = later;
    }
    this.#forget(normalLength);
    return out;
  }

  /** Keeps of what was let out the one character that a boundary after it depends on. */
  #forget(normalLength: number): void {
    if (normalLength === 0) return;
    const end = this.#contextLength + normalLength;
    const context = end - (isLowSurrogate(this.#normal.charCodeAt(end - 1)) ? 2 : 1);
    this.#normal = this.#normal.slice(context);
    this.#contextLength = end - context;
  }
}

/** What of a piece takes at most so many characters of its normal form, and the rest; all or nothing unless it is its own normal form. */
function divide(piece: Piece, characters: number): [now: string, later: Piece | undefined] {
  const { raw, normal } = piece;
  if (normal.length <= characters) return [raw, undefined];
  if (raw !== normal) return ["", piece];
  const cut = isLowSurrogate(raw.charCodeAt(characters)) ? characters - 1 : characters;
  const rest = raw.slice(cut);
  return [raw.slice(0, cut), { raw: rest, normal: rest }];
}

/** A text in parts of bounded length, none of which ends within a character. */
function* slices(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const to = from + MAX_SLICE_CHARACTERS;
    const end = isLowSurrogate(text.charCodeAt(to)) ? to + 1 : to;
    yield text.slice(from, end);
    from = end;
  }
}

import { clusters, isLowSurrogate, lastCluster, type Piece } from "./clusters.ts";
import { normalise } from "./normalise.ts";
import type { Matcher, Verdict } from "./pattern.ts";

/** A compiled pattern and what follows when it matches. */
export type ReplyPattern = { matcher: Matcher; verdict: Verdict };

/** A run of marks and invisible characters longer than this is no text, and is not waited for. */
const MAX_PENDING_CHARACTERS = 1_024;

/** Throws an Error with a sentence fit for whoever wrote the pattern, unless replies can be held back for it. */
export function requireReplyPattern({ longest, test }: Matcher): void {
  if (longest === Number.POSITIVE_INFINITY)
    throw new Error(
      "a pattern for replies needs an end to what it can match: write {0,20} where it has *, {1,20} where it has +",
    );
  if (longest === 0 || test("")) throw new Error("a pattern for replies must not match where there is no text");
}

/**
 * Lets a reply through, piece by piece, without ever letting out a character that a pattern matches. What it lets out lies so far
 * behind what it has seen that no match can still reach it: the length of the longest match of any pattern. A match counts once
 * something follows it, or the reply has ended, because a boundary after it (`\b`, `$`) depends on that.
 */
export class ReplyFilter {
  readonly #patterns: readonly ReplyPattern[];
  readonly #window: number;
  #verdict: Verdict | undefined;
  /** The end of what has come: more text could still change its normal form. */
  #pending = "";
  #held: Piece[] = [];
  /** The normal form of what is held, after the last character of what was let out. */
  #normal = "";
  #contextLength = 0;

  /** Each pattern has passed `requireReplyPattern`. */
  constructor(patterns: readonly ReplyPattern[]) {
    this.#patterns = patterns;
    this.#window = Math.max(0, ...patterns.map(({ matcher }) => matcher.longest));
  }

  /** Set once a pattern has matched: nothing is let out any more. */
  get verdict(): Verdict | undefined {
    return this.#verdict;
  }

  /** Takes more of the reply, well-formed; returns what may be shown of it now. */
  push(text: string): string {
    const come = this.#pending + text;
    const last = lastCluster(come);
    const cut = come.length - last > MAX_PENDING_CHARACTERS ? come.length : last;
    this.#pending = come.slice(cut);
    this.#hold(come.slice(0, cut));
    return this.#look(false) ? "" : this.#letOut(this.#normal.length - this.#contextLength - this.#window);
  }

  /** The reply is whole; returns what is left of it to show. */
  end(): string {
    this.#hold(this.#pending);
    this.#pending = "";
    return this.#look(true) ? "" : this.#letOut(Number.POSITIVE_INFINITY);
  }

  #hold(text: string): void {
    for (const piece of clusters(text, normalise)) {
      this.#held.push(piece);
      this.#normal += piece.normal;
    }
  }

  #look(isWhole: boolean): boolean {
    this.#verdict ??= this.#patterns.find(({ matcher }) => {
      if (!matcher.test(this.#normal)) return false;
      const span = matcher.find(this.#normal, this.#contextLength);
      return span !== undefined && (isWhole || span.end < this.#normal.length);
    })?.verdict;
    return this.#verdict !== undefined;
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

import { RE2JS, RE2Set } from "re2js";
import { compilePattern, type Matcher, toSource } from "./pattern.ts";

/**
 * Patterns are matched in groups of this size: one pass over the text for each. The automaton of a larger group has more states than can
 * be kept.
 */
const GROUP_SIZE = 250;
/**
 * Memory for the automaton of a group; ordinary patterns need less. re2js clears a full automaton, and goes on without one if that does
 * not help: both take time that is linear in the text.
 */
const AUTOMATON_BYTES = 128 * 1024;

type Group = { first: number; set: RE2Set };

/** The patterns of a bot. One match takes time proportional to `size` and to the text; memory stays below `bytes`. */
export class PatternSet {
  /** The sum of the patterns' sizes. */
  readonly size: number;
  /** Characters (UTF-16 units) that a match of any of them has at most; Infinity when there is no bound. */
  readonly longest: number;
  /** Bytes of memory that the programs and the automata take at most, approximately. */
  readonly bytes: number;
  readonly #matchers: readonly Matcher[];
  readonly #groups: readonly Group[];

  /** Throws PatternRefused if one of the patterns cannot be compiled. */
  constructor(patterns: readonly string[]) {
    this.#matchers = patterns.map(compilePattern);
    this.size = sum(this.#matchers.map(({ size }) => size));
    this.longest = Math.max(0, ...this.#matchers.map(({ longest }) => longest));
    let first = 0;
    this.#groups = groupCounts(this.#matchers).map((count) => {
      const group = { first, set: compileSet(patterns.slice(first, first + count)) };
      first += count;
      return group;
    });
    // A program is there twice: in its group, and by itself to find where it matches.
    this.bytes = 2 * sum(this.#matchers.map(({ bytes }) => bytes)) + this.#groups.length * AUTOMATON_BYTES;
  }

  /**
   * Returns the index of the first pattern that matches, -1 if none does. A match that begins before `from` is ignored; so is one at the
   * text's very end unless `isWhole`, because text that follows could change it.
   */
  firstMatch(text: string, from = 0, isWhole = true): number {
    for (const { first, set } of this.#groups)
      for (const index of set.match(text))
        if ((from === 0 && isWhole) || this.#counts(first + index, text, from, isWhole)) return first + index;
    return -1;
  }

  #counts(index: number, text: string, from: number, isWhole: boolean): boolean {
    const span = this.#matchers[index]?.find(text, from);
    return span !== undefined && (isWhole || span.end < text.length);
  }
}

/** Divides patterns into groups in their order; returns how many each has. */
function groupCounts(matchers: readonly Matcher[]): number[] {
  const counts: number[] = [];
  let room = 0;
  for (const { size } of matchers) {
    if (size > room) {
      counts.push(0);
      room = GROUP_SIZE;
    }
    counts.push((counts.pop() ?? 0) + 1);
    room -= size;
  }
  return counts;
}

function compileSet(patterns: readonly string[]): RE2Set {
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE, AUTOMATON_BYTES);
  for (const pattern of patterns) set.add(toSource(pattern));
  set.compile();
  return set;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

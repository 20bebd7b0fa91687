import { RE2JS, RE2Set } from "re2js";
import { compilePattern, type Matcher } from "./pattern.ts";
import { toSource } from "./pattern-source.ts";

/**
 * Maximum total size of a group of patterns, in instructions of their compiled programs. The automaton of a larger group would not fit into
 * AUTOMATON_BYTES. A larger pattern is a group of its own.
 */
const MAX_GROUP_SIZE = 250;
/**
 * Memory limit for a group's automaton. If the automaton is full, re2js clears it or matches without it, in time that is still linear in the
 * text's length.
 */
const AUTOMATON_BYTES = 128 * 1024;

/** `firstIndex` is the index of the group's first pattern among the bot's patterns. */
type Group = { firstIndex: number; set: RE2Set };

/** The compiled patterns of a bot. Matching takes time proportional to `size` and to the length of the text. */
export class PatternSet {
  /** In instructions. */
  readonly size: number;
  /** Length, in UTF-16 units, of the longest possible match of any pattern; Infinity if there is no bound. */
  readonly maxMatchLength: number;
  /** Approximate upper bound for the memory of the programs and automata. */
  readonly bytes: number;
  readonly #matchers: readonly Matcher[];
  readonly #groups: readonly Group[];

  /** Throws PatternRefusedError if one of the patterns cannot be compiled. */
  constructor(patterns: readonly string[]) {
    this.#matchers = patterns.map(compilePattern);
    this.size = sum(this.#matchers.map(({ size }) => size));
    this.maxMatchLength = Math.max(0, ...this.#matchers.map(({ maxMatchLength }) => maxMatchLength));
    let firstIndex = 0;
    this.#groups = countPatternsByGroup(this.#matchers).map((count) => {
      const group = { firstIndex, set: compileSet(patterns.slice(firstIndex, firstIndex + count)) };
      firstIndex += count;
      return group;
    });
    // Twice, because a pattern is in two programs: the group's, and its own, which finds the position of a match.
    this.bytes = 2 * sum(this.#matchers.map(({ bytes }) => bytes)) + this.#groups.length * AUTOMATON_BYTES;
  }

  /**
   * Returns the index of the first pattern that matches, -1 if none does. Ignores matches that start before `searchFrom`. If the text is
   * not complete, also ignores matches that reach its end, because text that follows could change them.
   */
  findFirstMatch(text: string, searchFrom = 0, isTextComplete = true): number {
    // Both the groups and the indexes that `set.match` returns are in ascending order.
    for (const { firstIndex, set } of this.#groups)
      for (const index of set.match(text))
        if (
          (searchFrom === 0 && isTextComplete) ||
          this.#hasMatchFrom(firstIndex + index, text, searchFrom, isTextComplete)
        )
          return firstIndex + index;
    return -1;
  }

  /** Returns the indexes of all patterns that match a complete text, in ascending order. */
  findAllMatches(text: string): number[] {
    return this.#groups.flatMap(({ firstIndex, set }) => set.match(text).map((index) => firstIndex + index));
  }

  #hasMatchFrom(index: number, text: string, searchFrom: number, isTextComplete: boolean): boolean {
    const span = this.#matchers[index]?.find(text, searchFrom);
    return span !== undefined && (isTextComplete || span.end < text.length);
  }
}

/** Groups consecutive patterns. Returns the number of patterns in each group. */
function countPatternsByGroup(matchers: readonly Matcher[]): number[] {
  const counts: number[] = [];
  let room = 0;
  for (const { size } of matchers) {
    if (size > room) {
      counts.push(0);
      room = MAX_GROUP_SIZE;
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

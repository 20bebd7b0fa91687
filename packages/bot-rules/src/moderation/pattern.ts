import { RE2JS } from "re2js";
import { longestMatch } from "./longest-match.ts";
import { programOf } from "./program.ts";

/** A moderation pattern as it is stored; an empty fallback stands for the bot's own. */
export type Pattern = { pattern: string; reason: string; fallback: string };

/** Where a match begins and ends. */
export type Span = { start: number; end: number };

export type Matcher = {
  test(text: string): boolean;
  /** The first match that does not begin before `from`, with the text before it in view; slower than `test`. */
  find(text: string, from: number): Span | undefined;
  /** Characters (UTF-16 units) that a match has at most; Infinity when there is no bound. */
  longest: number;
  /** Instructions of its program: the work that one character of text may cost. */
  size: number;
  /** Bytes of memory that its program takes, approximately. */
  bytes: number;
};

/** Why a text is not to be shown, and what to show instead. */
export type Verdict = { reason: string; fallback: string };

/** The largest size of a pattern. */
export const MAX_PATTERN_SIZE = 300;

const BYTES_PER_INSTRUCTION = 300;
const BYTES_PER_RUNE = 4;

/** A pattern is refused: a stable code, and a sentence for its author. */
export class PatternRefused extends Error {
  readonly code: PatternRefusalCode;

  constructor(code: PatternRefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PatternRefused";
    this.code = code;
  }
}

export type PatternRefusalCode = "invalid_argument" | "pattern_too_large" | "patterns_too_large";

/** Compiles a pattern that ignores case. Throws PatternRefused. */
export function compilePattern(pattern: string): Matcher {
  const compiled = parse(toSource(pattern));
  const size = compiled.programSize();
  if (size > MAX_PATTERN_SIZE)
    throw new PatternRefused(
      "pattern_too_large",
      `the pattern is too large once its repetitions are written out: its size is ${size}, and ${MAX_PATTERN_SIZE} is the most; use fewer or smaller counts`,
    );
  return {
    test: (text) => compiled.test(text),
    find: (text, from) => {
      const matcher = compiled.matcher(text);
      return matcher.find(from) ? { start: matcher.start(), end: matcher.end() } : undefined;
    },
    longest: longestMatch(compiled),
    size,
    bytes: size * BYTES_PER_INSTRUCTION + countRunes(compiled) * BYTES_PER_RUNE,
  };
}

/** A pattern as re2js gets it: composed, because texts are. */
export function toSource(pattern: string): string {
  return pattern.normalize("NFC");
}

function parse(source: string): RE2JS {
  try {
    return RE2JS.compile(source, RE2JS.CASE_INSENSITIVE);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.replace(/^error parsing regexp: /, "") : "not understood";
    throw new PatternRefused(
      "invalid_argument",
      `the pattern is not valid RE2 (look-around and back-references are not supported): ${reason}`,
      { cause },
    );
  }
}

/** A class such as \pL lists more than a thousand runes; the copies of a repetition share one list. */
function countRunes(compiled: RE2JS): number {
  const lists = new Set(programOf(compiled).inst.map(({ runes }) => runes));
  return [...lists].reduce((sum, runes) => sum + (runes?.length ?? 0), 0);
}

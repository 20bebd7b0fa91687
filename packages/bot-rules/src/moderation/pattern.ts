import { RE2JS } from "re2js";
import { computeMaxMatchLength } from "./max-match-length.ts";
import { toSource } from "./pattern-source.ts";
import { readProgram } from "./program.ts";

/** If `fallback` is empty, the bot's fallback applies. */
export type Pattern = { pattern: string; reason: string; fallback: string };

/** The fallback of a new bot. */
export const DEFAULT_FALLBACK = "I'm sorry, I can't help with that.";

export type Span = { start: number; end: number };

export type Matcher = {
  test(text: string): boolean;
  /** Returns the first match that starts at or after `from`. Assertions such as \b also see the text before `from`. Slower than `test`. */
  find(text: string, from: number): Span | undefined;
  /** Length of the longest possible match in UTF-16 units; Infinity if there is no bound. */
  maxMatchLength: number;
  /** Number of instructions in the compiled program: the worst-case number of steps for each character of text. */
  size: number;
  /** Approximate memory of the compiled program. */
  bytes: number;
};

/** Why a text is blocked, and the text to show instead. */
export type Verdict = { reason: string; fallback: string };

/** In instructions. */
export const MAX_PATTERN_SIZE = 300;

const BYTES_PER_INSTRUCTION = 300;
const BYTES_PER_RUNE = 4;

/** Thrown for a pattern that is not accepted. `code` is stable; the message is for the pattern's author. */
export class PatternRefusedError extends Error {
  readonly code: PatternRefusalCode;

  constructor(code: PatternRefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PatternRefusedError";
    this.code = code;
  }
}

export type PatternRefusalCode = "invalid_argument" | "pattern_too_large" | "patterns_too_large";

/** Compiles a case-insensitive pattern. Throws PatternRefusedError if the pattern is invalid or too large. */
export function compilePattern(pattern: string): Matcher {
  const compiled = parse(toSource(pattern));
  const size = compiled.programSize();
  if (size > MAX_PATTERN_SIZE)
    throw new PatternRefusedError(
      "pattern_too_large",
      `the pattern is too large when its repetitions are expanded: its size is ${size}, the limit is ${MAX_PATTERN_SIZE}; use fewer words, or fewer or smaller repetition counts such as {0,20}`,
    );
  return {
    test: (text) => compiled.test(text),
    find: (text, from) => {
      const matcher = compiled.matcher(text);
      return matcher.find(from) ? { start: matcher.start(), end: matcher.end() } : undefined;
    },
    maxMatchLength: computeMaxMatchLength(compiled),
    size,
    bytes: size * BYTES_PER_INSTRUCTION + countRunes(compiled) * BYTES_PER_RUNE,
  };
}

function parse(source: string): RE2JS {
  try {
    return RE2JS.compile(source, RE2JS.CASE_INSENSITIVE);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.replace(/^error parsing regexp: /, "") : "unknown error";
    throw new PatternRefusedError(
      "invalid_argument",
      `the pattern is not valid (look-around and back-references are not supported): ${reason}`,
      { cause },
    );
  }
}

/**
 * Counts the runes in the rune lists of a program's instructions. A character class such as \pL has a list of more than 1,000 runes. Expanded
 * repetitions share one list.
 */
function countRunes(compiled: RE2JS): number {
  const lists = new Set(readProgram(compiled).inst.map(({ runes }) => runes));
  return [...lists].reduce((sum, runes) => sum + (runes?.length ?? 0), 0);
}

import { RE2JS } from "re2js";
import { longestMatch } from "./longest-match.ts";
import { normalise } from "./normalise.ts";

/** A moderation pattern as it is stored; an empty fallback stands for the bot's own. */
export type Pattern = { pattern: string; reason: string; fallback: string };

/** Where a match begins and ends. */
export type Span = { start: number; end: number };

export type Matcher = {
  test(text: string): boolean;
  /** The first match that does not begin before `from`, with what stands before it in view; slower than `test`. */
  find(text: string, from: number): Span | undefined;
  /** Characters (UTF-16 units) that a match has at most; Infinity when there is no bound. */
  longest: number;
};

/** Why a text is not to be shown, and what to show instead. */
export type Verdict = { reason: string; fallback: string };

/**
 * Bounds what a pattern may cost: a program of this size is matched against 4,000 characters in about 10 ms the first time, while
 * its automaton is built, and in microseconds from then on.
 */
const MAX_PROGRAM_SIZE = 300;

/** Compiles a pattern that ignores case. Throws an Error with a sentence fit for whoever wrote the pattern. */
export function compilePattern(pattern: string): Matcher {
  const compiled = parse(pattern);
  if (compiled.programSize() > MAX_PROGRAM_SIZE)
    throw new Error("the pattern is too large once its repetitions are written out; use fewer or smaller counts");
  return {
    test: (text) => compiled.test(text),
    find: (text, from) => {
      const matcher = compiled.matcher(text);
      return matcher.find(from) ? { start: matcher.start(), end: matcher.end() } : undefined;
    },
    longest: longestMatch(compiled),
  };
}

function parse(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern.normalize("NFC"), RE2JS.CASE_INSENSITIVE);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.replace(/^error parsing regexp: /, "") : "not understood";
    throw new Error(`the pattern is not valid RE2 (look-around and back-references are not supported): ${reason}`, {
      cause,
    });
  }
}

/** The verdict of the first pattern that matches a visitor's message; undefined when none does. */
export function moderate(
  message: string,
  patterns: readonly { pattern: Pattern; matcher: Pick<Matcher, "test"> }[],
  botFallback: string,
): Verdict | undefined {
  if (patterns.length === 0) return undefined;
  const text = normalise(message);
  const hit = patterns.find(({ matcher }) => matcher.test(text))?.pattern;
  return hit && { reason: hit.reason, fallback: hit.fallback || botFallback };
}

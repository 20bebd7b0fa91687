import { RE2JS } from "re2js";

/** A moderation pattern as it is stored; an empty fallback stands for the bot's own. */
export type Pattern = { pattern: string; reason: string; fallback: string };

export type Matcher = { test: (text: string) => boolean };

/** Why a message is not answered, and what to show instead. */
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
  return compiled;
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

const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/** A message as patterns see it: compatibility forms folded (full-width letters, ligatures), invisible characters taken out. */
export function normaliseMessage(message: string): string {
  return message.normalize("NFKC").replace(INVISIBLE, "");
}

/** The verdict of the first pattern that matches; undefined when none does. */
export function moderate(
  message: string,
  patterns: readonly { pattern: Pattern; matcher: Matcher }[],
  botFallback: string,
): Verdict | undefined {
  if (patterns.length === 0) return undefined;
  const text = normaliseMessage(message);
  const hit = patterns.find(({ matcher }) => matcher.test(text))?.pattern;
  return hit && { reason: hit.reason, fallback: hit.fallback || botFallback };
}

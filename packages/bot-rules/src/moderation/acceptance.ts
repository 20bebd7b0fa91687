import { normalise } from "./normalise.ts";
import { compilePattern, type Matcher, PatternRefusedError } from "./pattern.ts";
import { PatternSet } from "./pattern-set.ts";
import { hasEscape, removeFoldedLetters } from "./pattern-source.ts";
import { isUnsegmented, UNSEGMENTED_SCRIPTS } from "./scripts.ts";
import { readThreadCpuTimeMs } from "./thread-cpu-time.ts";
import { parseWords } from "./words.ts";

/**
 * Limit for the sum of the sizes of a bot's patterns. A pattern's size is the number of instructions in its compiled program. At the limit, a
 * thread matches the slowest text of 4,000 characters in about 0.2 s.
 */
export const MAX_TOTAL_PATTERN_SIZE = 2_000;
/**
 * Limit for the CPU time to compile a bot's patterns. Ordinary patterns take about 10 ms. The limit is below MAX_JOB_MS of
 * pattern-thread-pool.ts, because a match job may have to compile the stored patterns.
 */
const MAX_COMPILE_MS = 1_000;

export type PatternCandidate = { pattern: string; isForReplies: boolean; otherPatterns: readonly string[] };

/** Throws PatternRefusedError unless the pattern may be saved beside the bot's other patterns. */
export function requireAcceptable({ pattern, isForReplies, otherPatterns }: PatternCandidate): void {
  const matcher = compilePattern(pattern);
  requireNormalCharacters(pattern);
  requireFittingEscapes(pattern);
  if (isForReplies) requireReplyPattern(matcher);
  const startedAtMs = readThreadCpuTimeMs();
  const { size } = new PatternSet([...otherPatterns, pattern]);
  if (size > MAX_TOTAL_PATTERN_SIZE)
    throw new PatternRefusedError(
      "patterns_too_large",
      `the bot's patterns are too large: with this pattern of size ${matcher.size} their total size is ${size}, the limit is ${MAX_TOTAL_PATTERN_SIZE}; remove a pattern, or use fewer or smaller repetition counts such as {0,20}`,
    );
  if (readThreadCpuTimeMs() - startedAtMs > MAX_COMPILE_MS) throw slowToCompileError();
}

/** Refuses characters that can never match, because normalising removes or replaces them in texts. */
function requireNormalCharacters(pattern: string): void {
  const character = [...removeFoldedLetters(pattern)].find((each) => normalise(each) !== each);
  if (character === undefined) return;
  const codePoint = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
  const normal = normalise(character);
  throw new PatternRefusedError(
    "invalid_argument",
    normal === ""
      ? `the pattern contains the invisible character ${codePoint}, which is removed from texts before matching; remove it from the pattern`
      : `the pattern contains ${codePoint}, which is replaced with "${normal}" in texts before matching; write "${normal}" instead`,
  );
}

const UNSEGMENTED_CLASS = new RegExp(`\\\\p\\{(${UNSEGMENTED_SCRIPTS})\\}`);
const OTHER_LETTER = /(?![a-z])[\p{L}\p{M}]/iu;

/** Refuses escapes that would silently not match what the pattern's author means. */
function requireFittingEscapes(pattern: string): void {
  // A list of words has \b only where it fits.
  if (parseWords(pattern) !== undefined) return;
  if (hasEscape(pattern, "bB") && (isUnsegmented(pattern) || UNSEGMENTED_CLASS.test(pattern)))
    throw new PatternRefusedError(
      "invalid_argument",
      "the pattern contains \\b or \\B and letters of a script without spaces between words, such as Chinese, Japanese or Thai, where they do not match within a sentence; remove them, and use another pattern for other scripts",
    );
  if (hasEscape(pattern, "wW") && OTHER_LETTER.test(pattern))
    throw new PatternRefusedError(
      "invalid_argument",
      "the pattern contains \\w or \\W, which know only the letters A to Z, and other letters; write [\\pL\\pM\\pN_] instead of \\w, and [^\\pL\\pM\\pN_] instead of \\W",
    );
}

export function slowToCompileError(): PatternRefusedError {
  return new PatternRefusedError(
    "patterns_too_large",
    "the bot's patterns take too long to compile; use fewer or smaller character classes",
  );
}

/** Throws PatternRefusedError unless the pattern's matches have a bounded, positive length, which ReplyFilter requires. */
export function requireReplyPattern({ maxMatchLength, test }: Matcher): void {
  if (maxMatchLength === Number.POSITIVE_INFINITY)
    throw new PatternRefusedError(
      "invalid_argument",
      "the length of a match of a pattern for replies must be limited: write {0,20} instead of *, and {1,20} instead of +",
    );
  if (maxMatchLength === 0 || test(""))
    throw new PatternRefusedError("invalid_argument", "a pattern for replies must not match the empty string");
}

import { compilePattern, type Matcher, PatternRefused } from "./pattern.ts";
import { PatternSet } from "./pattern-set.ts";

/** The largest sum of the sizes of a bot's patterns: the worst text of 4,000 characters then takes about 0.2 s of a thread. */
export const MAX_BOT_SIZE = 2_000;
/**
 * Classes of thousands of characters take long to compile; ordinary patterns take some 10 ms. The limit leaves a busy machine room to save
 * ordinary patterns, and a match time to compile what was saved.
 */
const MAX_COMPILE_MS = 1_000;

/** A pattern that is to be saved beside the bot's other patterns. */
export type Candidate = { pattern: string; isForReplies: boolean; others: readonly string[] };

/** Throws PatternRefused unless the pattern may be saved. */
export function requireAcceptable({ pattern, isForReplies, others }: Candidate): void {
  const matcher = compilePattern(pattern);
  if (isForReplies) requireReplyPattern(matcher);
  const startedAt = performance.now();
  const { size } = new PatternSet([...others, pattern]);
  if (size > MAX_BOT_SIZE)
    throw new PatternRefused(
      "patterns_too_large",
      `the bot's patterns are too large together: with this one, of size ${matcher.size}, their size is ${size}, and ${MAX_BOT_SIZE} is the most; remove a pattern, or use fewer or smaller counts`,
    );
  if (performance.now() - startedAt > MAX_COMPILE_MS) throw slowToCompile();
}

export function slowToCompile(): PatternRefused {
  return new PatternRefused(
    "patterns_too_large",
    "the bot's patterns take too long to compile; use fewer or smaller classes of characters",
  );
}

/** Throws PatternRefused unless replies can be held back for the pattern. */
export function requireReplyPattern({ longest, test }: Matcher): void {
  if (longest === Number.POSITIVE_INFINITY)
    throw new PatternRefused(
      "invalid_argument",
      "a pattern for replies needs an end to what it can match: write {0,20} where it has *, {1,20} where it has +",
    );
  if (longest === 0 || test(""))
    throw new PatternRefused("invalid_argument", "a pattern for replies must not match where there is no text");
}

import { normalise } from "./normalise.ts";
import type { Pattern, Verdict } from "./pattern.ts";
import type { PatternThreads } from "./pattern-threads.ts";

/** A bot's patterns for messages, in the order they are tried. */
export type MessagePatterns = { list: readonly Pattern[]; json: string };

/** A bot's patterns for messages, as `moderate` needs them for each message. */
export function messagePatterns(list: readonly Pattern[]): MessagePatterns {
  return { list, json: patternsJson(list) };
}

/** Patterns as a thread gets them. */
export function patternsJson(patterns: readonly Pick<Pattern, "pattern">[]): string {
  return JSON.stringify(patterns.map(({ pattern }) => pattern));
}

/**
 * Returns the verdict of the first pattern that matches a visitor's message; undefined if none does. Throws ServiceError
 * `moderation_overloaded` if the message could not be matched in time.
 */
export async function moderate(
  threads: Pick<PatternThreads, "match">,
  workspaceId: string,
  message: string,
  patterns: MessagePatterns,
  botFallback: string,
): Promise<Verdict | undefined> {
  if (patterns.list.length === 0) return undefined;
  const job = { patterns: patterns.json, text: normalise(message), from: 0, isWhole: true };
  const { hit } = await threads.match(workspaceId, job);
  const pattern = patterns.list[hit];
  return pattern && { reason: pattern.reason, fallback: pattern.fallback || botFallback };
}

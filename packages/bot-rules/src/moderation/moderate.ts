import { normalise } from "./normalise.ts";
import type { Pattern, Verdict } from "./pattern.ts";
import type { PatternThreadPool } from "./pattern-thread-pool.ts";

/** A bot's patterns for visitors' messages, in order of precedence. `json` is the result of `serializePatterns`. */
export type MessagePatterns = { list: readonly Pattern[]; json: string };

/** Prepares a bot's patterns for `moderateMessage`, so that their JSON is not built for every message. */
export function prepareMessagePatterns(list: readonly Pattern[]): MessagePatterns {
  return { list, json: serializePatterns(list) };
}

/** Returns the JSON of patterns for PatternThreadPool's `match` and `matchAll`. */
export function serializePatterns(patterns: readonly Pick<Pattern, "pattern">[]): string {
  return JSON.stringify(patterns.map(({ pattern }) => pattern));
}

/** Returns all patterns that match a complete text, in the order of `patterns`. Throws the same errors as `moderateMessage`. */
export async function findMatchingPatterns<P extends Pick<Pattern, "pattern">>(
  threads: Pick<PatternThreadPool, "matchAll">,
  workspaceId: string,
  text: string,
  patterns: readonly P[],
): Promise<P[]> {
  if (patterns.length === 0) return [];
  const indexes = await threads.matchAll(workspaceId, { patterns: serializePatterns(patterns), text: normalise(text) });
  return patterns.filter((_, index) => indexes.includes(index));
}

/**
 * Returns the verdict of the first pattern that matches a visitor's message; undefined if none does. Throws ServiceError
 * `moderation_overloaded` if the match job exceeds a limit or its thread fails.
 */
export async function moderateMessage(
  threads: Pick<PatternThreadPool, "match">,
  workspaceId: string,
  message: string,
  patterns: MessagePatterns,
  botFallback: string,
): Promise<Verdict | undefined> {
  if (patterns.list.length === 0) return undefined;
  const job = { patterns: patterns.json, text: normalise(message), searchFrom: 0, isTextComplete: true };
  const { index } = await threads.match(workspaceId, job);
  const pattern = patterns.list[index];
  return pattern && { reason: pattern.reason, fallback: pattern.fallback || botFallback };
}

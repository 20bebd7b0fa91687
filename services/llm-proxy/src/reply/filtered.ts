import { compilePattern, type Matcher, ReplyFilter } from "@parley/bot-rules/moderation";
import type { Prompt } from "@parley/rpc/llm";
import { LRUCache } from "lru-cache";
import type { CallRecord } from "./call-record.ts";
import type { ReplyEvent } from "./reply.ts";

/** Kept by their text across replies: a matcher builds its automaton as it is used. */
const MAX_MATCHERS = 1_000;

export class Filters {
  readonly #matchers = new LRUCache<string, Matcher>({ max: MAX_MATCHERS });

  /**
   * A reply with nothing in it that a pattern of the prompt matches: what might still be matched is held back, and when it is the reply
   * ends as blocked, its provider left. A reply without patterns passes as it is.
   */
  through(events: AsyncGenerator<ReplyEvent>, prompt: Prompt, record: CallRecord): AsyncGenerator<ReplyEvent> {
    if (prompt.replyPatterns.length === 0) return events;
    const patterns = prompt.replyPatterns.map(({ pattern, verdict }) => ({
      matcher: this.#matcherOf(pattern),
      verdict: { reason: verdict?.reason ?? "", fallback: verdict?.fallback ?? "" },
    }));
    return filtered(events, new ReplyFilter(patterns), record);
  }

  #matcherOf(pattern: string): Matcher {
    const matcher = this.#matchers.get(pattern) ?? compilePattern(pattern);
    this.#matchers.set(pattern, matcher);
    return matcher;
  }
}

async function* filtered(events: AsyncGenerator<ReplyEvent>, filter: ReplyFilter, record: CallRecord) {
  for await (const event of events) {
    const shown = typeof event === "string" ? filter.push(event) : event;
    if (filter.verdict !== undefined) break;
    if (shown !== "") yield shown;
  }
  // What was held back of a reply that failed is not shown: nobody knows how it would have gone on.
  const rest = record.outcome === "complete" ? filter.end() : "";
  if (rest !== "") yield rest;
  if (filter.verdict === undefined) return;
  record.outcome = "blocked";
  record.reason = "";
  record.blocked = filter.verdict;
}

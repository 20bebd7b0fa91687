import { compilePattern, type Matcher, ReplyFilter } from "@parley/bot-rules/moderation";
import type { Prompt } from "@parley/rpc/llm";
import { LRUCache } from "lru-cache";
import type { Take } from "../providers/index.ts";
import type { CallRecord } from "./call-record.ts";
import type { ReplyEvent } from "./generate.ts";

/** Kept by their text across replies: a matcher builds its automaton as it is used. */
const MAX_MATCHERS = 1_000;

/** A reply on its way through its patterns. */
export type Filtered = {
  take: Take<ReplyEvent>;
  /** To be called at the reply's end: tells what was still held back, and writes down what was found. */
  end(): void;
};

export class Filters {
  readonly #matchers = new LRUCache<string, Matcher>({ max: MAX_MATCHERS });

  /**
   * Tells `take` a reply with nothing in it that a pattern of the prompt matches: what might still be matched is held back, and when it
   * is, the reply is to `stop` and ends as blocked. A reply without patterns passes as it is.
   */
  through(take: Take<ReplyEvent>, prompt: Prompt, record: CallRecord, stop: () => void): Filtered {
    if (prompt.replyPatterns.length === 0) return { take, end: () => undefined };
    const patterns = prompt.replyPatterns.map(({ pattern, verdict }) => ({
      matcher: this.#matcherOf(pattern),
      verdict: { reason: verdict?.reason ?? "", fallback: verdict?.fallback ?? "" },
    }));
    return filtered(take, new ReplyFilter(patterns), record, stop);
  }

  #matcherOf(pattern: string): Matcher {
    const matcher = this.#matchers.get(pattern) ?? compilePattern(pattern);
    this.#matchers.set(pattern, matcher);
    return matcher;
  }
}

function filtered(take: Take<ReplyEvent>, filter: ReplyFilter, record: CallRecord, stop: () => void): Filtered {
  return {
    take(event) {
      if (filter.verdict !== undefined) return undefined;
      const shown = typeof event === "string" ? filter.push(event) : event;
      if (filter.verdict !== undefined) stop();
      else if (shown !== "") return take(shown);
      return undefined;
    },
    end() {
      // What was held back of a reply that failed is not shown: nobody knows how it would have gone on.
      const rest = record.outcome === "complete" ? filter.end() : "";
      if (rest !== "") void take(rest);
      if (filter.verdict === undefined) return;
      record.outcome = "blocked";
      record.reason = "";
      record.blocked = filter.verdict;
    },
  };
}

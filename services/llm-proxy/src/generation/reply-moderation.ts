import { type PatternThreads, patternsJson, ReplyFilter } from "@parley/bot-rules/moderation";
import type { Prompt } from "@parley/rpc/llm";
import { ServiceError } from "@parley/service-kit";
import type { Take } from "../providers/index.ts";
import type { CallRecord } from "./call-record.ts";
import type { ReplyEvent } from "./generate.ts";

/** So much text may wait for its look; then the provider waits. */
const MAX_WAITING_CHARACTERS = 16 * 1024;

/** A reply on its way through its patterns. */
export type Filtered = {
  take: Take<ReplyEvent>;
  /** Resolves when all text so far has been looked at; a match may have stopped the reply by then. */
  settled(): Promise<void>;
  /** Must be called at the reply's end. Sends what was still held back, and records a match or a failure to look for one. */
  end(): Promise<void>;
};

/**
 * Passes on to `take` a reply with nothing in it that a pattern of the prompt matches: holds back what might still be matched. When a
 * pattern matches, the reply is to `stop` and ends as blocked; when the patterns cannot be matched in time, as failed. A reply without
 * patterns passes as it is.
 */
export function filtered(
  threads: Pick<PatternThreads, "match">,
  take: Take<ReplyEvent>,
  prompt: Prompt,
  record: CallRecord,
  stop: () => void,
): Filtered {
  if (prompt.replyPatterns.length === 0) {
    const nothing = () => Promise.resolve();
    return { take, settled: nothing, end: nothing };
  }
  const patterns = patternsJson(prompt.replyPatterns);
  const filter = new ReplyFilter((text, from, isWhole) =>
    threads.match(record.workspaceId, { patterns, text, from, isWhole }),
  );
  let waiting = "";
  let looking: Promise<void> | undefined;
  let failure: unknown;
  const isOver = () => filter.hit !== undefined || failure !== undefined;

  /** Sends on what waits, one look after the other: what comes during a look waits for the next. */
  const lookAtAll = async () => {
    try {
      while (waiting !== "") {
        const text = waiting;
        waiting = "";
        const shown = await filter.push(text);
        if (filter.hit === undefined && shown !== "") await take(shown);
      }
    } catch (error) {
      failure = error;
    } finally {
      looking = undefined;
      if (isOver()) stop();
    }
  };

  return {
    take(event) {
      if (event === "" || isOver()) return undefined;
      if (typeof event !== "string") return looking === undefined ? take(event) : looking.then(() => take(event));
      waiting += event;
      looking ??= lookAtAll();
      return waiting.length < MAX_WAITING_CHARACTERS ? undefined : looking;
    },
    async settled() {
      await looking;
    },
    async end() {
      await looking;
      // What was held back of a reply that failed is not shown: nobody knows how it would have gone on.
      if (record.outcome === "complete" && !isOver()) {
        const rest = await filter.end().catch((error: unknown) => {
          failure = error;
          return "";
        });
        if (rest !== "") void take(rest);
      }
      if (filter.hit !== undefined) {
        const { reason = "", fallback = "" } = prompt.replyPatterns[filter.hit]?.verdict ?? {};
        Object.assign(record, { outcome: "blocked", reason: "", blocked: { reason, fallback } });
      } else if (failure instanceof ServiceError) {
        Object.assign(record, { outcome: "provider_error", reason: "moderation" });
      } else if (failure !== undefined) throw failure;
    },
  };
}

import { type PatternThreadPool, patternsJson, ReplyFilter } from "@parley/bot-rules/moderation";
import { ServiceError } from "@parley/service-kit";
import type { Sink } from "../providers/index.ts";
import type { Ending, GenerationEvent, GenerationRequest } from "./generation-result.ts";

/** If more text than this waits to be matched, the provider must wait (backpressure). */
const MAX_WAITING_CHARACTERS = 16 * 1024;

export type ReplyModerationOptions = {
  threads: Pick<PatternThreadPool, "match">;
  request: GenerationRequest;
  /** Receives the text that no pattern can match any more. */
  sink: Sink<GenerationEvent>;
  /** Stops the generation. */
  stop: () => void;
};

export type ReplyModeration = {
  sink: Sink<GenerationEvent>;
  /** Waits until the text so far has been matched. If a pattern matches, the generation is stopped before this resolves. */
  settle: () => Promise<void>;
  /**
   * Must be called when the text is complete and the generation still waits for token counts. Sends the text that was held back, then
   * ReplyFinished. If a pattern matches, the generation is stopped.
   */
  release: () => void;
  /** Must be called when the generation has ended. Releases the text of a complete one and returns how the moderated generation ends. */
  end: (ending: Ending) => Promise<Ending>;
};

/**
 * Holds back the text that a moderation pattern of the prompt may still match. If a pattern matches, the generation is stopped and ends
 * as blocked; if the patterns cannot be matched in time, it ends as failed. Without patterns, everything is passed on as it arrives.
 */
export function moderateReply({ threads, request, sink, stop }: ReplyModerationOptions): ReplyModeration {
  const { workspaceId, prompt } = request;
  const { replyPatterns } = prompt;
  if (replyPatterns.length === 0) return passOn(sink);
  const patterns = patternsJson(replyPatterns);
  const filter = new ReplyFilter((text, searchFrom, isTextComplete) =>
    threads.match(workspaceId, { patterns, text, searchFrom, isTextComplete }),
  );
  let waiting = "";
  let matching: Promise<void> | undefined;
  let failure: unknown;
  const isOver = () => filter.matchedPattern !== undefined || failure !== undefined;

  /** Matches the waiting text; text that arrives meanwhile waits for the next match. */
  const matchWaiting = async () => {
    try {
      while (waiting !== "") {
        const text = waiting;
        waiting = "";
        const cleared = await filter.push(text);
        if (filter.matchedPattern === undefined && cleared !== "") await sink(cleared);
      }
    } catch (error) {
      failure = error;
    } finally {
      matching = undefined;
      if (isOver()) stop();
    }
  };

  let released: Promise<void> | undefined;
  const sendHeldBack = async () => {
    await matching;
    if (isOver()) return;
    const rest = await filter.end().catch((error: unknown) => {
      failure = error;
      return "";
    });
    if (isOver()) return stop();
    if (rest !== "") void sink(rest);
    void sink({ isFinished: true });
  };
  const release = () => {
    released ??= sendHeldBack();
    return released;
  };

  return {
    sink(event) {
      if (event === "" || isOver()) return undefined;
      if (typeof event !== "string") return matching === undefined ? sink(event) : matching.then(() => sink(event));
      waiting += event;
      matching ??= matchWaiting();
      return waiting.length < MAX_WAITING_CHARACTERS ? undefined : matching;
    },
    async settle() {
      await matching;
    },
    release: () => void release(),
    async end(ending) {
      // Text held back from a failed generation is not sent: a pattern could have matched it together with the missing text.
      await (ending.outcome === "complete" ? release() : matching);
      if (filter.matchedPattern !== undefined) {
        const { reason = "", fallback = "" } = replyPatterns[filter.matchedPattern]?.verdict ?? {};
        return { outcome: "blocked", reason: "", verdict: { reason, fallback } };
      }
      if (failure instanceof ServiceError) return { outcome: "provider_error", reason: "moderation" };
      if (failure !== undefined) throw failure;
      return ending;
    },
  };
}

/** Passes everything on as it arrives. */
function passOn(sink: Sink<GenerationEvent>): ReplyModeration {
  let isReleased = false;
  const release = () => {
    if (!isReleased) void sink({ isFinished: true });
    isReleased = true;
  };
  return {
    sink,
    settle: () => Promise.resolve(),
    release,
    async end(ending) {
      if (ending.outcome === "complete") release();
      return ending;
    },
  };
}

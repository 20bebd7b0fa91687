import { type PatternThreadPool, ReplyFilter, serializePatterns } from "@parley/bot-rules/moderation";
import type { FinishDetail } from "@parley/rpc/outcomes";
import { ServiceError } from "@parley/service-kit";
import type { Sink } from "../providers/index.ts";
import type { GenerationEnding, GenerationEvent, GenerationRequest } from "./generation-result.ts";

/** Backpressure: the provider must wait while this much text waits to be checked against the patterns. */
const MAX_WAITING_CHARACTERS = 16 * 1024;

export type CompletionModerationOptions = {
  threads: Pick<PatternThreadPool, "match">;
  request: GenerationRequest;
  /** Receives the text that no pattern can match any more, and the other events. */
  sink: Sink<GenerationEvent>;
  stop: () => void;
};

export type CompletionModeration = {
  /** Receives the generation's events before moderation. */
  sink: Sink<GenerationEvent>;
  /** Waits until the text so far has been checked against the patterns. If a pattern matches, stops the generation before the promise resolves. */
  waitForMatching: () => Promise<void>;
  /**
   * Must be called when the text is complete but token counts may follow. Sends the held-back text and the event `isTextComplete`. If a
   * pattern matches, sends neither and stops the generation.
   */
  sendHeldBackText: (finishDetail: FinishDetail) => void;
  /** Must be called when the generation has ended. If it is complete, sends the held-back text. Returns the ending after moderation. */
  finish: (ending: GenerationEnding) => Promise<GenerationEnding>;
};

/**
 * Holds back the text that one of the prompt's `replyPatterns` may still match. If a pattern matches, the generation is stopped and ends
 * as blocked; if the patterns cannot be matched in time, it ends as failed. Does not hold back tool calls.
 */
export function moderateCompletion({
  threads,
  request,
  sink,
  stop,
}: CompletionModerationOptions): CompletionModeration {
  const { workspaceId, prompt } = request;
  const { replyPatterns } = prompt;
  if (replyPatterns.length === 0) return createPassThrough(sink);
  const patterns = serializePatterns(replyPatterns);
  const filter = new ReplyFilter((text, searchFrom, isTextComplete) =>
    threads.match(workspaceId, { patterns, text, searchFrom, isTextComplete }),
  );
  let hasReportedOutput = false;
  let waitingText = "";
  let matching: Promise<void> | undefined;
  let failure: unknown;
  const hasStopped = () => filter.matchedPatternIndex !== undefined || failure !== undefined;

  /** Checks the waiting text against the patterns, then the text that has arrived meanwhile, until no text waits. */
  const matchWaiting = async () => {
    try {
      while (waitingText !== "") {
        const text = waitingText;
        waitingText = "";
        const released = await filter.push(text);
        if (filter.matchedPatternIndex !== undefined) continue;
        if (released !== "") await sink(released);
        else if (!hasReportedOutput) void sink({ isOutputStart: true });
        hasReportedOutput = true;
      }
    } catch (error) {
      failure = error;
    } finally {
      matching = undefined;
      if (hasStopped()) stop();
    }
  };

  let heldBackSent: Promise<void> | undefined;
  const matchAndSendRest = async (finishDetail: FinishDetail) => {
    await matching;
    if (hasStopped()) return;
    const rest = await filter.end().catch((error: unknown) => {
      failure = error;
      return "";
    });
    if (hasStopped()) return stop();
    if (rest !== "") void sink(rest);
    void sink({ isTextComplete: true, finishDetail });
  };
  const sendHeldBackText = (finishDetail: FinishDetail) => {
    heldBackSent ??= matchAndSendRest(finishDetail);
    return heldBackSent;
  };

  return {
    sink(event) {
      if (event === "" || hasStopped()) return undefined;
      if (typeof event !== "string") return matching === undefined ? sink(event) : matching.then(() => sink(event));
      waitingText += event;
      matching ??= matchWaiting();
      return waitingText.length < MAX_WAITING_CHARACTERS ? undefined : matching;
    },
    async waitForMatching() {
      await matching;
    },
    sendHeldBackText: (finishDetail) => void sendHeldBackText(finishDetail),
    async finish(ending) {
      // If the generation is not complete, the held-back text is not sent: a pattern could have matched it together with the missing text.
      await (ending.outcome === "complete" ? sendHeldBackText(ending.finishDetail) : matching);
      if (filter.matchedPatternIndex !== undefined) {
        const { reason = "", fallback = "" } = replyPatterns[filter.matchedPatternIndex]?.verdict ?? {};
        return { outcome: "blocked", reason: "", verdict: { reason, fallback }, finishDetail: "" };
      }
      if (failure instanceof ServiceError) return { outcome: "provider_error", reason: "moderation", finishDetail: "" };
      if (failure !== undefined) throw failure;
      return ending;
    },
  };
}

function createPassThrough(sink: Sink<GenerationEvent>): CompletionModeration {
  let hasSentTextComplete = false;
  const sendHeldBackText = (finishDetail: FinishDetail) => {
    if (!hasSentTextComplete) void sink({ isTextComplete: true, finishDetail });
    hasSentTextComplete = true;
  };
  return {
    sink,
    waitForMatching: () => Promise.resolve(),
    sendHeldBackText,
    async finish(ending) {
      if (ending.outcome === "complete") sendHeldBackText(ending.finishDetail);
      return ending;
    },
  };
}

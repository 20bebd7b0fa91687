import type { Verdict } from "@parley/bot-rules/moderation";
import type { Prompt } from "@parley/rpc/llm";
import type { FinishDetail, GenerationOutcome } from "@parley/rpc/outcomes";
import { GenerationCancelled, ProviderFailure } from "../providers/index.ts";
import type { ToolUse } from "../tools/index.ts";
import type { AttemptResult } from "./attempt-result.ts";
import type { Citation } from "./citations.ts";
import type { GenerationUsage } from "./meter.ts";

export type GenerationRequest = {
  workspaceId: string;
  turnId: string;
  /** A model or `route:<name>`; empty for the default model. */
  model: string;
  prompt: Prompt;
};

/** A finished tool call. In the first call of a round of tool calls, `roundLatencyMs` is the round's duration; in the round's other calls, 0. */
export type ToolCallEvent = ToolUse & { roundLatencyMs: number };

/** Follows the last text. The generation may still wait for token counts. */
export type TextComplete = { isTextComplete: true; finishDetail: FinishDetail };

/** Precedes the tool calls of a round. */
export type ToolRoundStart = { isToolRoundStart: true };

/** The provider sends output that is no text yet: thoughts, or text that moderation holds back. May be repeated. */
export type OutputStart = { isOutputStart: true };

/** The first citation of a passage. */
export type CitationEvent = { citation: Citation };

/** A string is a part of the text. */
export type GenerationEvent = string | OutputStart | ToolRoundStart | ToolCallEvent | CitationEvent | TextComplete;

export type GenerationEnding = {
  outcome: GenerationOutcome;
  /** Parley's code for the cause of a failure, such as `http_503`; empty for the outcome `model_unknown` and without a failure. */
  reason: string;
  /** Whether the provider caused the failure. False for a request that it refused, and for a generation that reached its total timeout. */
  isProviderFailure?: boolean;
  /** The reason, and the text for the visitor; only with the outcome `blocked`. */
  verdict?: Verdict;
  /** Empty unless the outcome is `complete`. */
  finishDetail: FinishDetail;
};

/** The step after a failed attempt. */
export type NextStep = "retry" | "failover" | "end";

/** An attempt of a generation; `next` is empty unless the attempt failed. */
export type GenerationAttempt = AttemptResult & { next: NextStep | "" };

/** A generation that has ended. */
export type GenerationResult = GenerationEnding & {
  /** When the generation started, on the monotonic clock that also times the attempts. */
  startedAtMs: number;
  /** In order, including attempts without a sent request. */
  attempts: readonly GenerationAttempt[];
  /** Requests sent to providers. */
  sentAttempts: number;
  /** The provider and the model of the last attempt; empty without attempts. */
  provider: string;
  model: string;
  failovers: number;
  /** The number of rounds; 0 without attempts. A round is the attempts until the model calls tools or replies. */
  rounds: number;
  toolCalls: number;
  usage: GenerationUsage;
  /** Time spent waiting for slots of the providers' concurrency limits. */
  queueMs: number;
  /** Time spent waiting for tools. */
  toolsMs: number;
  /** From the start of the generation to the first text; undefined if there was no text. */
  firstTextMs: number | undefined;
  totalMs: number;
};

/** Rethrows unexpected errors. @param error an attempt's failure, the reason of an aborted signal, or undefined if the attempt completed. */
export function toEnding(error: unknown): GenerationEnding {
  if (error === undefined) return { outcome: "complete", reason: "", finishDetail: "" };
  if (error instanceof GenerationCancelled) return { outcome: "cancelled", reason: "", finishDetail: "" };
  if (error instanceof ProviderFailure) {
    const { code, reason } = error;
    return { outcome: code, reason, isProviderFailure: isProviderFailure(error), finishDetail: "" };
  }
  throw error;
}

/** Visitors can cause the total timeout: by reading slowly, or by making the model call slow tools. */
function isProviderFailure({ code, reason, isProviderFault }: ProviderFailure): boolean {
  if (reason === "total_timeout") return false;
  return isProviderFault || code === "provider_auth" || code === "provider_rate_limited";
}

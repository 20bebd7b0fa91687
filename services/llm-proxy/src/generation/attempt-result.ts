import type { Prompt } from "@parley/rpc/llm";
import type { Candidate, GenerationCancelled, ProviderFailure, StopCause, Usage } from "../providers/index.ts";
import type { ToolFunction, ToolRequest, ToolRound } from "../tools/index.ts";
import type { Citations } from "./citations.ts";

export type AttemptRequest = {
  /** The model to call, with its provider. */
  candidate: Candidate;
  workspaceId: string;
  turnId: string;
  prompt: Prompt;
  /** The tools to describe to the model. It may call them unless `mustAnswerWithoutTools` is true. */
  tools: readonly ToolFunction[];
  mustAnswerWithoutTools: boolean;
  /** The earlier tool calls of this generation, with their results. */
  toolRounds: readonly ToolRound[];
  /** Replaces the citations in the text for the visitor; undefined if the model must not cite. */
  citations: Citations | undefined;
  /** When the attempt must have ended, by the monotonic clock. The provider's total timeout can end it earlier. */
  deadlineAtMs: number;
};

/** The output of a provider in one attempt, finished or not. `text` has the model's own citations. */
export type Completion = {
  text: string;
  /** The provider's token counts; undefined when it sent none. */
  usage: Usage | undefined;
  isFinished: boolean;
  stopCause: StopCause;
  /** The provider's finish reason; empty unless the completion is finished. */
  finishReason: string;
  toolRequests: readonly ToolRequest[];
  /** The model's message in the provider's format, if it requests tools. */
  assistantMessage: Record<string, unknown> | undefined;
};

/** Times in milliseconds; `…AtMs` is a time of the monotonic clock. */
export type AttemptTimes = {
  startedAtMs: number;
  /** Time spent waiting for a slot of the provider's concurrency limit. */
  queueMs: number;
};

export type AttemptResult = AttemptTimes & {
  request: AttemptRequest;
  /** False if the wait for a slot failed or the breaker was open. */
  isSent: boolean;
  firstTextAtMs: number | undefined;
  endedAtMs: number;
  completion: Completion;
  /** Why the attempt failed; undefined if it succeeded. */
  failure: ProviderFailure | GenerationCancelled | undefined;
};

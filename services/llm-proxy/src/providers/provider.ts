import type { Prompt } from "@parley/rpc/llm";
import type { Sampling, SamplingProblem } from "../settings/index.ts";
import type { ToolFunction, ToolRequest, ToolRound } from "../tools/index.ts";
import type { TextSink } from "./text-sink.ts";

export type CompletionRequest = {
  /** The model's name without its provider. */
  model: string;
  prompt: Prompt;
  /** The tools to describe to the model. It may call them unless `mustAnswerWithoutTools` is true. */
  tools: readonly ToolFunction[];
  mustAnswerWithoutTools: boolean;
  /** The earlier tool calls of this generation, with their results. */
  toolRounds: readonly ToolRound[];
  /** The bot's settings of the model, and the provider's. */
  sampling: Sampling;
  signal: AbortSignal;
  /** Receives the text as it arrives, in parts without lone surrogates or NUL. If `onText` throws, the stream ends with that error. */
  onText: TextSink;
  /** Called when anything arrives from the provider, even a comment. Restarts the silence timeout. */
  onSignOfLife: () => void;
  /** Called when the model's output arrives without a text for the visitor, such as thoughts. May be called repeatedly. */
  onThoughts: () => void;
  /** Called when the model has finished, after `onText` has accepted its text. May be called repeatedly. Later failures are ignored. */
  onFinished: (completion: FinishedCompletion) => void;
  /**
   * Called after `onText` has received all text, if the model has finished without tool calls but the stream is still open for token counts.
   * May be called repeatedly.
   */
  onTextComplete: () => void;
  /** Called with the token counts if the provider sent any, even if the completion fails. */
  onUsage: (usage: Usage) => void;
};

/**
 * Why a model stopped.
 * - length: at a limit of tokens.
 * - declined: it said that it has no answer.
 * - refusal: it or its provider refused to reply.
 */
export type StopCause = "stop" | "length" | "declined" | "refusal";

export type FinishedCompletion = {
  stopCause: StopCause;
  /** The provider's finish reason; empty if it is not a machine-readable code. */
  finishReason: string;
  toolRequests: readonly ToolRequest[];
  /** With tool requests: the model's message in the provider's format. The next round must send it back unchanged. */
  assistantMessage?: Record<string, unknown>;
};

export type Usage = {
  tokensIn: number;
  tokensOut: number;
  /** How many of `tokensIn` the provider read from its cache. */
  tokensCached?: number;
  /** How many of `tokensIn` the provider wrote to its cache, if it counts them. */
  tokensCacheWritten?: number;
};

export type EmbeddingRequest = {
  /** The model's name without its provider. */
  model: string;
  /** The length of the vectors; undefined for the model's default. */
  dimensions: number | undefined;
  texts: readonly string[];
  signal: AbortSignal;
};

/** One vector per text, in the order of the texts and all of one length. `tokens` is 0 when the provider reports none. */
export type Embeddings = { vectors: number[][]; tokens: number };

export type Provider = {
  hasModel(model: string): boolean;
  /**
   * Returns the first problem of a model with settings, without sending a request. `asked` are those of the settings that the bot has: they must
   * be sent as they are. An API whose models are not known does not have this method.
   */
  findSettingProblem?(
    model: string,
    settings: { sampling: Sampling; asked: Sampling },
  ): Promise<SamplingProblem | undefined>;
  /** Streams a completion. If this returns or throws without having called `onFinished`, the completion has failed. */
  stream(request: CompletionRequest): Promise<void>;
  /** Throws ProviderFailure. A provider without embeddings does not have this method. */
  embed?(request: EmbeddingRequest): Promise<Embeddings>;
  /** Waits for running requests, then closes the connections. */
  close(): Promise<void>;
};

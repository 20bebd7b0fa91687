import type { Prompt } from "@parley/rpc/llm";
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
  signal: AbortSignal;
  /** Receives the text as it arrives, in well-formed parts. If it throws, the stream ends with that error. */
  onText: TextSink;
  /**
   * Called when the model has begun a tool call and more of the stream arrives without text. Restarts the silence timeout. Not called for
   * reasoning before the first tool call.
   */
  onProgress: () => void;
  /**
   * Called after the model has finished and `onText` took its text, perhaps repeatedly, with its tool calls and its finish reason. Later failures
   * are ignored.
   */
  onFinished: (toolRequests: readonly ToolRequest[], finishReason: string) => void;
  /**
   * Called, perhaps repeatedly, after all text was passed to `onText`, if the model finished without tool calls and the stream is still open.
   * Only token counts may follow.
   */
  onTextComplete: () => void;
  /** Called, perhaps repeatedly, with the latest token counts, if the provider sends any. */
  onUsage: (usage: Usage) => void;
};

export type Usage = { tokensIn: number; tokensOut: number };

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
  /** Whether a model of this name can be called. */
  hasModel(model: string): boolean;
  /** Streams a completion. The completion has failed if this ends, by a return or an error, without having called `onFinished`. */
  stream(request: CompletionRequest): Promise<void>;
  /** Embeds texts. Throws ProviderFailure. Missing if the provider has no embeddings. */
  embed?(request: EmbeddingRequest): Promise<Embeddings>;
  /** Waits for running requests, then closes the connections. */
  close(): Promise<void>;
};

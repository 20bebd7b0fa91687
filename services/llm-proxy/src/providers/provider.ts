import type { Prompt } from "@parley/rpc/llm";
import type { ToolFunction, ToolRequest, ToolRound } from "../tools/index.ts";
import type { Take } from "./text-sink.ts";

/** One call of a model, as a provider sees it. */
export type ProviderCall = {
  /** The model's name without its provider. */
  model: string;
  prompt: Prompt;
  /** What the model may call. */
  tools: readonly ToolFunction[];
  /** Whether it has to answer now, without calling any. */
  mustAnswer: boolean;
  /** What it called before, and what came of it. */
  rounds: readonly ToolRound[];
  /** Aborted when nobody waits any more; its reason is what the stream should throw. */
  signal: AbortSignal;
  /** To be called with each piece of the reply's text, well-formed. What it throws ends the stream. */
  onText: Take<string>;
  /** To be called when something came that is no text: the model is at work. */
  onProgress: () => void;
  /**
   * To be called when the model has finished, with the tools it calls and its word for why: whatever fails afterwards no longer
   * matters.
   */
  onFinished: (requests: readonly ToolRequest[], reason: string) => void;
  /** To be called with the provider's own count of tokens, when it gives one. */
  onUsage: (usage: Usage) => void;
};

export type Usage = { tokensIn: number; tokensOut: number };

/** One call of a model that makes embeddings. */
export type EmbedCall = {
  /** The model's name without its provider. */
  model: string;
  /** The length to ask for; the model's own when undefined. */
  dimensions: number | undefined;
  texts: readonly string[];
  /** Aborted when nobody waits any more. */
  signal: AbortSignal;
};

/** One vector a text, in their order and all of one length; the tokens are 0 where the provider tells none. */
export type Embedded = { vectors: number[][]; tokens: number };

/** Something that answers prompts. */
export type Provider = {
  /** Whether it can call a model of this name. */
  knows(model: string): boolean;
  /** Streams a reply's text to `onText`. It has failed when it throws, or ends without `onFinished`. */
  stream(call: ProviderCall): Promise<void>;
  /** Turns texts into vectors; missing where the provider cannot. Throws ProviderFailure. */
  embed?(call: EmbedCall): Promise<Embedded>;
  /** Lets calls in flight end, then closes its connections. */
  close(): Promise<void>;
};

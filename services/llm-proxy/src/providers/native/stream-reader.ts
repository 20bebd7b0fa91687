import type {
  LanguageModelV4FinishReason,
  LanguageModelV4ReasoningPart,
  LanguageModelV4StreamPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolCallPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import type { ToolRequest } from "../../tools/index.ts";
import {
  createTruncatedFailure,
  failureFromReason,
  failureFromSetting,
  ProviderFailure,
  toProviderCode,
} from "../failure.ts";
import { toStopCause } from "../finish-reason.ts";
import { MAX_CHARACTERS } from "../openai/assistant-message.ts";
import { ThinkingFilter } from "../openai/thinking-filter.ts";
import { createCallId, MAX_ARGUMENTS_CHARACTERS, MAX_CALLS, type ToolCallContext } from "../openai/tool-call-deltas.ts";
import type { FinishedCompletion, StopCause, Usage } from "../provider.ts";
import { createUsage } from "../usage.ts";
import { toFailure } from "./failure.ts";
import { parseObject } from "./parse-object.ts";
import { findRefusedSetting } from "./refused-setting.ts";

type Block = LanguageModelV4TextPart | LanguageModelV4ReasoningPart;

/** Reads the stream of a model of the AI SDK. Assembles the model's message, which must go back to the provider with all signatures. */
export class StreamReader {
  /** Set when the model has finished. */
  completion: FinishedCompletion | undefined;
  usage: Usage | undefined;
  /** Whether the model has sent any output, such as thoughts. */
  hasOutput: boolean = false;
  readonly #context: ToolCallContext;
  readonly #content: (Block | LanguageModelV4ToolCallPart)[] = [];
  readonly #blocks = new Map<string, Block>();
  readonly #requests: ToolRequest[] = [];
  readonly #thinkingFilter = new ThinkingFilter();
  #characters = 0;

  constructor(context: ToolCallContext) {
    this.#context = context;
  }

  /** Adds a part and returns its text for the visitor. Throws ProviderFailure if the part reports an error, or if the stream was cut off. */
  push(part: LanguageModelV4StreamPart): string {
    switch (part.type) {
      case "stream-start": {
        const problem = findRefusedSetting(part.warnings);
        if (problem !== undefined) throw failureFromSetting(problem);
        return "";
      }
      case "text-start":
        this.#startBlock(part.id, { type: "text", text: "" }, part.providerMetadata);
        return "";
      case "reasoning-start":
        this.#startBlock(part.id, { type: "reasoning", text: "" }, part.providerMetadata);
        return "";
      case "text-delta":
        this.#append(part.id, part.delta, part.providerMetadata);
        return this.#thinkingFilter.push(part.delta);
      case "reasoning-delta":
        this.#append(part.id, part.delta, part.providerMetadata);
        return "";
      case "text-end":
      case "reasoning-end":
        this.#append(part.id, "", part.providerMetadata);
        return "";
      case "tool-input-delta":
        this.hasOutput = true;
        this.#count(part.delta);
        return "";
      case "tool-call":
        this.#addCall(part);
        return "";
      case "error":
        throw toFailure(part.error);
      case "finish":
        return this.#finish(part.finishReason, part.usage);
      default:
        return "";
    }
  }

  #startBlock(id: string, block: Block, metadata: SharedV4ProviderMetadata | undefined): void {
    this.hasOutput = true;
    this.#count("");
    this.#content.push(block);
    this.#blocks.set(id, block);
    setOptions(block, metadata);
  }

  #append(id: string, text: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const block = this.#blocks.get(id);
    if (block === undefined) throw failureFromReason("malformed");
    this.#count(text, metadata);
    block.text += text;
    setOptions(block, metadata);
  }

  /** Bounds the memory of a stream. */
  #count(text: string, metadata?: SharedV4ProviderMetadata): void {
    this.#characters += 1 + text.length + (metadata === undefined ? 0 : JSON.stringify(metadata).length);
    if (this.#characters > MAX_CHARACTERS) throw failureFromReason("too_large");
  }

  #addCall({ toolCallId, toolName, input, providerMetadata }: LanguageModelV4ToolCall): void {
    if (this.#requests.length >= MAX_CALLS || input.length > MAX_ARGUMENTS_CHARACTERS)
      throw failureFromReason("too_large");
    this.hasOutput = true;
    this.#count(input, providerMetadata);
    const isUsable = toolCallId !== "" && this.#requests.every(({ id }) => id !== toolCallId);
    const id = isUsable ? toolCallId : createCallId(this.#context.round, this.#requests.length);
    this.#requests.push({ id, name: toolName, arguments: input.trim() === "" ? "{}" : input });
    const part: LanguageModelV4ToolCallPart = {
      type: "tool-call",
      toolCallId: id,
      toolName,
      input: parseObject(input),
    };
    this.#content.push(part);
    setOptions(part, providerMetadata);
  }

  #finish({ unified, raw = "" }: LanguageModelV4FinishReason, usage: LanguageModelV4Usage): string {
    this.usage = readUsage(usage);
    if (unified === "interrupted" || (unified === "other" && raw === "")) throw createTruncatedFailure();
    const stopCause = classify(unified, raw);
    // A finish reason can be any text, which must not reach a log.
    const finishReason = toProviderCode(raw.toLowerCase()) ?? "";
    if (stopCause === "failure")
      throw new ProviderFailure("provider_error", "stream_error", { isProviderFault: true, detail: finishReason });
    // A completion that ends with tool calls but has none has lost them.
    if (unified === "tool-calls" && this.#requests.length === 0) throw failureFromReason("malformed");
    const assistantMessage = { role: "assistant", content: this.#content };
    this.completion = { stopCause, finishReason, toolRequests: this.#requests, assistantMessage };
    return this.#thinkingFilter.end();
  }
}

function setOptions(part: Block | LanguageModelV4ToolCallPart, metadata: SharedV4ProviderMetadata | undefined): void {
  if (metadata !== undefined) part.providerOptions = metadata;
}

function classify(unified: LanguageModelV4FinishReason["unified"], raw: string): StopCause | "failure" {
  if (unified === "content-filter") return "refusal";
  if (unified === "length") return "length";
  if (unified === "error") return "failure";
  return unified === "other" ? toStopCause(raw) : "stop";
}

/** Returns undefined if the provider sent no counts. */
function readUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage | undefined {
  return createUsage(inputTokens.total, outputTokens.total, {
    cached: inputTokens.cacheRead,
    cacheWritten: inputTokens.cacheWrite,
  });
}

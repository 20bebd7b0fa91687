import { hasVisibleText } from "../../text.ts";
import {
  createTruncatedFailure,
  failureFromReason,
  failureFromStatus,
  ProviderFailure,
  toProviderCode,
} from "../failure.ts";
import { isRefusalError, toStopCause } from "../finish-reason.ts";
import { EventStreamParser } from "../http/event-stream-parser.ts";
import type { FinishedCompletion, StopCause, Usage } from "../provider.ts";
import { readProviderError } from "../provider-error.ts";
import { createUsage } from "../usage.ts";
import { AssistantMessage } from "./assistant-message.ts";
import { isObject } from "./merge-deltas.ts";
import { ThinkingFilter } from "./thinking-filter.ts";
import type { ToolCallContext } from "./tool-call-deltas.ts";

// Providers differ in what they send, so every field is checked before it is used.
type Chunk = Record<string, unknown>;
type ErrorBody = { code?: unknown; status?: unknown; type?: unknown };

/** Parses the body of a streamed chat completion. A malformed event, choice or content is a failure, because text may be missing. */
export class ChatStreamReader {
  /** Whether the model has finished. Later failures are ignored. */
  isFinished: boolean = false;
  /** Set if the model finishes without a tool call while the stream is still open. Later choices are ignored. */
  isTextComplete: boolean = false;
  /** Whether `[DONE]` has arrived. Later events are ignored. */
  hasDoneMarker: boolean = false;
  usage: Usage | undefined;
  readonly #message: AssistantMessage;
  readonly #thinkingFilter = new ThinkingFilter();
  readonly #events = new EventStreamParser((event) => this.#readEvent(event.event, event.data));
  #finishReason = "";
  /** The classified finish reason. */
  #reasonCause: StopCause | "failure" = "stop";
  #hasRefusal: boolean = false;
  #hasChoice: boolean = false;
  #hasText: boolean = false;
  #failure: ProviderFailure | undefined;
  #text = "";

  constructor(context: ToolCallContext) {
    this.#message = new AssistantMessage(context);
  }

  /** Whether the model has sent any output, such as thoughts. */
  get hasOutput(): boolean {
    return this.#message.hasOutput;
  }

  /** Complete once `isFinished` is true. */
  get completion(): FinishedCompletion {
    const stopCause = this.#stopCause;
    return {
      stopCause: stopCause === "failure" ? "stop" : stopCause,
      // A finish reason can be any text, which must not reach a log.
      finishReason: toProviderCode(this.#finishReason.toLowerCase()) ?? "",
      toolRequests: this.#message.toolRequests,
      assistantMessage: this.#message.build(),
    };
  }

  /** Returns the text for the visitor in the bytes. Throws ProviderFailure if the stream is malformed or reports an error. */
  feed(bytes: Uint8Array): string {
    return this.#collectText(() => this.#events.feed(bytes));
  }

  /** Returns the rest of the text. Throws ProviderFailure if the body ended before the completion did. */
  end(): string {
    const text = this.#collectText(() => {
      this.#events.end();
      if (this.#hasFinishReason) this.#finish();
    });
    if (!this.isFinished) throw createTruncatedFailure();
    return text;
  }

  get #hasFinishReason(): boolean {
    return this.#finishReason !== "" || this.#hasRefusal;
  }

  get #stopCause(): StopCause | "failure" {
    return this.#hasRefusal ? "refusal" : this.#reasonCause;
  }

  #collectText(parseMore: () => void): string {
    this.#text = "";
    if (this.#failure === undefined) {
      parseMore();
      if (this.#events.parseFailure !== undefined) this.#failure ??= failureFromReason(this.#events.parseFailure);
    }
    if (this.#failure !== undefined && !this.isFinished) throw this.#failure;
    return this.#text;
  }

  #readEvent(name: string | undefined, data: string): void {
    if (this.hasDoneMarker || this.#failure !== undefined) return;
    try {
      // An unknown or damaged line (`hasGap`) is a failure only when an event arrives. A body without events, such as an HTML page, is
      // reported as truncated instead.
      if (this.#events.hasGap) throw failureFromReason("malformed");
      if (data.trim() === "[DONE]") {
        this.hasDoneMarker = true;
        if (this.#hasChoice || this.#hasFinishReason) this.#finish();
      } else if (data.trim() !== "") this.#readChunk(name, parseObject(data));
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      this.#failure = error;
    }
  }

  #readChunk(name: string | undefined, chunk: Chunk): void {
    const error = name === "error" ? (chunk.error ?? chunk) : chunk.error;
    if (!isAbsent(error)) this.#readError(error);
    else this.#readChoice(chunk);
  }

  #readError(error: unknown): void {
    if (!isRefusalError(error)) throw failureFromStreamError(error);
    this.#hasRefusal = true;
    this.#finishIfPossible();
  }

  #readChoice(chunk: Chunk): void {
    this.#readUsage(chunk.usage);
    // Groq sends the counts here, and Moonshot in the choice.
    if (isObject(chunk.x_groq)) this.#readUsage(chunk.x_groq.usage);
    const choices = readField(chunk, "choices", Array.isArray) ?? [];
    if (choices.length === 0) this.#finishIfPossible();
    if (choices.length === 0 || this.isTextComplete) return;
    const [choice]: unknown[] = choices;
    if (!isObject(choice)) throw failureFromReason("malformed");
    this.#hasChoice = true;
    this.#readUsage(choice.usage);
    if (choice.finish_reason === "error" && !isRefusalError(choice.error)) throw failureFromStreamError(choice.error);
    const delta = this.#readDelta(choice);
    const finishReason = readNonEmpty(choice.finish_reason);
    if (finishReason !== undefined) {
      this.#finishReason = finishReason;
      this.#reasonCause = toStopCause(finishReason);
    }
    this.#hasRefusal ||= readNonEmpty(delta.refusal) !== undefined || isRefusalError(choice.error);
    const text = this.#message.push(delta);
    if (this.#stopCause !== "refusal") this.#addText(text);
    if (finishReason !== undefined && isEmptyDelta(delta)) this.#finishIfPossible();
  }

  #readUsage(usage: unknown): void {
    this.usage = readUsage(usage) ?? this.usage;
  }

  /** Some gateways send the whole message instead of deltas, and others repeat the whole message after the deltas. */
  #readDelta(choice: Chunk): Chunk {
    const delta = readField(choice, "delta", isObject);
    if (delta !== undefined) return delta;
    return this.#message.isEmpty ? (readField(choice, "message", isObject) ?? {}) : {};
  }

  #addText(content: string): void {
    const text = this.#thinkingFilter.push(content);
    this.#text += text;
    this.#hasText ||= hasVisibleText(text);
  }

  /** Not called for a chunk with both a finish reason and content, because some gateways send a finish reason with every chunk. */
  #finishIfPossible(): void {
    const stopCause = this.#stopCause;
    // A failure is thrown at the end, after the token counts.
    if (!this.#hasFinishReason || stopCause === "failure") return;
    const { hasCalls } = this.#message;
    const isRefusal = stopCause === "refusal";
    if (!isRefusal && !hasCalls && (!this.#hasText || this.#finishReason === "tool_calls")) return;
    this.#finish();
    if (!isRefusal && !hasCalls) this.isTextComplete = true;
  }

  /** Throws ProviderFailure if the finish reason is a failure, or does not fit the completion. */
  #finish(): void {
    if (this.isFinished) return;
    if (this.#stopCause === "failure") {
      const detail = toProviderCode(this.#finishReason.toLowerCase());
      throw new ProviderFailure("provider_error", "stream_error", { isProviderFault: true, detail });
    }
    // A completion with the finish reason `tool_calls` but without tool calls has lost them.
    if (this.#finishReason === "tool_calls" && !this.#message.hasCalls) throw failureFromReason("malformed");
    const rest = this.#thinkingFilter.end();
    this.#text += rest;
    this.#hasText ||= hasVisibleText(rest);
    this.isFinished = true;
  }
}

function parseObject(data: string): Chunk {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw failureFromReason("malformed");
  }
  if (!isObject(value)) throw failureFromReason("malformed");
  return value;
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;
const readNonEmpty = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Whether an error field reports no error. */
const isAbsent = (error: unknown): boolean => !isPresent(error) || error === "" || error === false;

/** Returns undefined if the field is missing or null. Throws if `isKind` rejects its value. */
function readField<T>(object: Chunk, name: string, isKind: (value: unknown) => value is T): T | undefined {
  const value = object[name];
  if (value === undefined || value === null) return undefined;
  if (!isKind(value)) throw failureFromReason("malformed");
  return value;
}

/** Whether a delta has no content besides a role. */
function isEmptyDelta(delta: Record<string, unknown>): boolean {
  const isEmpty = (value: unknown) => !isPresent(value) || value === "" || (Array.isArray(value) && value.length === 0);
  return Object.entries(delta).every(([name, value]) => name === "role" || isEmpty(value));
}

/** DeepSeek has the cached tokens in a field of its own. */
function readUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const { prompt_tokens: tokensIn, completion_tokens: tokensOut, prompt_tokens_details: details } = usage;
  const cached = isObject(details) ? details.cached_tokens : usage.prompt_cache_hit_tokens;
  return createUsage(tokensIn, tokensOut, { cached });
}

/** The HTTP status that a provider sends with an error code when the error occurs before the stream. */
const STATUS_OF_CODE: Record<string, number> = {
  invalid_api_key: 401,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  server_error: 500,
};

/** Maps an error inside a stream by the HTTP status that it contains or that STATUS_OF_CODE gives. Without a status, the reason is `stream_error`. */
function failureFromStreamError(error: unknown): ProviderFailure {
  const body: ErrorBody = typeof error === "object" && error !== null ? error : {};
  for (const value of [body.code, body.status, body.type]) {
    const status = STATUS_OF_CODE[String(value)] ?? Number(value);
    if (Number.isInteger(status) && status >= 400 && status <= 599) {
      return failureFromStatus(status, { providerCode: body.code, body: error });
    }
  }
  const detail = toProviderCode(body.code) ?? toProviderCode(body.type);
  const sentError = { status: 200, ...readProviderError(error) };
  return new ProviderFailure("provider_error", "stream_error", { isProviderFault: true, detail, sentError });
}

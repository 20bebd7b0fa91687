import { failureFromStatus, ProviderFailure, toProviderCode } from "../failure.ts";
import { EventStreamParser } from "../http/event-stream-parser.ts";
import type { Usage } from "../provider.ts";
import { failureFromReason } from "./failure.ts";
import { ToolCallAssembler } from "./tool-call-deltas.ts";

/** The largest value of the call log's integer columns. */
const MAX_TOKENS = 2 ** 31 - 1;

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
  /** The provider's finish reason; empty until it arrives, or if it is not a machine-readable code. */
  finishReason: string = "";
  usage: Usage | undefined;
  /** Complete once `isFinished` is true. */
  readonly toolCalls: ToolCallAssembler = new ToolCallAssembler();
  readonly #events = new EventStreamParser((event) => this.#readEvent(event.event, event.data));
  #hasChoice: boolean = false;
  #hasFinishReason: boolean = false;
  #hasText: boolean = false;
  #failure: ProviderFailure | undefined;
  #text = "";

  /** Returns the text in the bytes. Throws ProviderFailure if the stream is malformed or reports an error. */
  feed(bytes: Uint8Array): string {
    return this.#collectText(() => this.#events.feed(bytes));
  }

  /** Returns the rest of the text. Throws ProviderFailure if the body ended before the completion did. */
  end(): string {
    const text = this.#collectText(() => this.#events.end());
    if (!this.#hasFinishReason && !this.isFinished) {
      throw new ProviderFailure("provider_error", "truncated", { isRetryable: true, isProviderFault: true });
    }
    this.isFinished = true;
    return text;
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
    // An unknown or damaged line (`hasGap`) is a failure only when an event arrives. A body without events, such as an HTML page, is reported
    // as truncated instead.
    if (this.#events.hasGap) this.#failure = failureFromReason("malformed");
    else if (data === "[DONE]") {
      this.hasDoneMarker = true;
      if (this.#hasChoice) this.isFinished = true;
    } else this.#readChunk(name, data);
  }

  #readChunk(name: string | undefined, data: string): void {
    try {
      const chunk = parseObject(data);
      if (isPresent(chunk.error)) throw failureFromStreamError(chunk.error);
      if (name === "error") throw failureFromStreamError(chunk);
      this.#readChoice(chunk);
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      this.#failure = error;
    }
  }

  #readChoice(chunk: Chunk): void {
    this.usage = readUsage(chunk.usage) ?? this.usage;
    const choices = readField(chunk, "choices", Array.isArray) ?? [];
    if (choices.length === 0) this.#finishIfPossible();
    if (choices.length === 0 || this.isTextComplete) return;
    const [choice]: unknown[] = choices;
    if (!isObject(choice)) throw failureFromReason("malformed");
    this.#hasChoice = true;
    if (choice.finish_reason === "error") throw failureFromStreamError(choice.error);
    const delta = readField(choice, "delta", isObject) ?? {};
    const text = readContent(delta);
    this.#text += text;
    this.#hasText ||= text !== "";
    const toolCalls = readField(delta, "tool_calls", Array.isArray);
    if (toolCalls !== undefined) this.toolCalls.push(toolCalls);
    // A completion with the finish reason `tool_calls` but without tool calls has lost them.
    if (choice.finish_reason === "tool_calls" && !this.toolCalls.hasCalls) throw failureFromReason("malformed");
    if (typeof choice.finish_reason === "string" && choice.finish_reason !== "") {
      this.#hasFinishReason = true;
      this.finishReason = toProviderCode(choice.finish_reason) ?? "";
      if (isEmptyDelta(delta)) this.#finishIfPossible();
    }
  }

  /** Not called for a chunk with both a finish reason and content, because some gateways send a finish reason with every chunk. */
  #finishIfPossible(): void {
    if (!this.#hasFinishReason || !(this.#hasText || this.toolCalls.hasCalls)) return;
    this.isFinished = true;
    if (!this.toolCalls.hasCalls) this.isTextComplete = true;
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

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isPresent = (value: unknown): boolean => value !== undefined && value !== null;
const isString = (value: unknown): value is string => typeof value === "string";
const isStringOrArray = (value: unknown): value is string | unknown[] => isString(value) || Array.isArray(value);

/** Returns undefined if the field is missing or null. Throws if `isKind` rejects its value. */
function readField<T>(object: Chunk, name: string, isKind: (value: unknown) => value is T): T | undefined {
  const value = object[name];
  if (value === undefined || value === null) return undefined;
  if (!isKind(value)) throw failureFromReason("malformed");
  return value;
}

/** Whether a delta has no content besides a role. */
function isEmptyDelta(delta: Record<string, unknown>): boolean {
  return Object.entries(delta).every(([name, value]) => name === "role" || !isPresent(value) || value === "");
}

/** Returns the text for the visitor. With some providers, content is a list of parts. Only parts of the type `text` are for the visitor. */
function readContent(delta: Record<string, unknown>): string {
  const content = readField(delta, "content", isStringOrArray) ?? "";
  return isString(content) ? content : content.map(readPartText).join("");
}

function readPartText(part: unknown): string {
  if (!isObject(part)) throw failureFromReason("malformed");
  return readField(part, "type", isString) === "text" ? (readField(part, "text", isString) ?? "") : "";
}

function readUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const { prompt_tokens: tokensIn, completion_tokens: tokensOut } = usage;
  return isCount(tokensIn) && isCount(tokensOut) ? { tokensIn, tokensOut } : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS;
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
      return failureFromStatus(status, { providerCode: body.code });
    }
  }
  const detail = toProviderCode(body.code) ?? toProviderCode(body.type);
  return new ProviderFailure("provider_error", "stream_error", { isProviderFault: true, detail });
}

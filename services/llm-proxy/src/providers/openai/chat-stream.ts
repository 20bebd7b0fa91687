import { codeOf, failureOfStatus, ProviderFailure } from "../failure.ts";
import type { Usage } from "../provider.ts";
import { damagedKey, isDamaged } from "./damaged.ts";
import { EventStream } from "./event-stream.ts";
import { SameChunk } from "./same-chunk.ts";
import { ToolCallDeltas } from "./tool-call-deltas.ts";

const MAX_TOKENS = 2 ** 31 - 1;

// What we read of a chunk; nothing about it is taken on trust.
type Chunk = Record<string, unknown>;
type ErrorBody = { code?: unknown; status?: unknown; type?: unknown };

/** Reads the body of a streamed chat completion: bytes in, text out. What it cannot read is an error, never a gap in the text. */
export class ChatStreamReader {
  /** A finish reason was read: the reply is whole. */
  finished: boolean = false;
  /** `[DONE]` was read: nothing follows. */
  ended: boolean = false;
  /** Why the model finished, if it is a word. */
  finishReason: string = "";
  usage: Usage | undefined;
  /** The tools that the model calls; all of them once it has finished. */
  readonly toolCalls: ToolCallDeltas = new ToolCallDeltas();
  readonly #events = new EventStream((event) => this.#read(event.event, event.data));
  readonly #same = new SameChunk();
  #answered: boolean = false;
  #failure: ProviderFailure | undefined;
  #text = "";

  /** Takes what one read brought and returns its text, joined. Throws ProviderFailure when the stream says or is an error. */
  feed(bytes: Uint8Array): string {
    return this.#take(() => this.#events.feed(bytes));
  }

  /** Takes the end of the body. Throws ProviderFailure when it came before the end of the reply. */
  end(): string {
    const text = this.#take(() => this.#events.end());
    if (!this.finished && !(this.ended && this.#answered)) {
      throw new ProviderFailure("provider_error", "truncated", { retryable: true, fault: true });
    }
    this.finished = true;
    return text;
  }

  #take(readMore: () => void): string {
    this.#text = "";
    if (this.#failure === undefined) {
      readMore();
      if (this.#events.broken !== undefined) this.#failure ??= broken(this.#events.broken);
    }
    if (this.#failure !== undefined && !this.finished) throw this.#failure;
    return this.#text;
  }

  #read(name: string | undefined, data: string): void {
    if (this.ended || this.#failure !== undefined) return;
    // Only here, so that a page of HTML is what it was before: a stream without a single event.
    if (this.#events.hasHole) this.#failure = broken("malformed");
    else if (data === "[DONE]") {
      this.ended = true;
      if (this.#answered) this.finished = true;
    } else this.#readChunk(name, data);
  }

  #readChunk(name: string | undefined, data: string): void {
    const text = name === undefined ? this.#same.textOf(data) : undefined;
    if (text !== undefined) {
      this.#text += text;
      return;
    }
    try {
      const chunk = parseObject(data);
      const error = chunk.choices === undefined ? field(chunk, "error", isSomething) : chunk.error;
      if (isSomething(error)) this.#failure = failureOfError(error);
      else if (name !== undefined && isSame(name, "error")) this.#failure = failureOfError(chunk);
      else if (this.#readChoice(chunk) && name === undefined) this.#same.learn(data, textAlone);
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      this.#failure = error;
    }
  }

  /** Whether its text is all that this chunk adds to the reply. */
  #readChoice(chunk: Chunk): boolean {
    this.usage = readUsage(chunk.usage) ?? this.usage;
    const choices = field(chunk, "choices", Array.isArray) ?? [];
    if (choices.length === 0) return false;
    const [choice]: unknown[] = choices;
    if (!isObject(choice)) throw broken("malformed");
    this.#answered = true;
    if (choice.finish_reason === "error") throw failureOfError(choice.error);
    const delta = field(choice, "delta", isObject) ?? {};
    this.#text += contentText(delta);
    if (isSomething(delta.tool_calls)) this.toolCalls.push(requireArray(delta.tool_calls));
    // Calls that were announced and did not come are lost.
    if (choice.finish_reason === "tool_calls" && !this.toolCalls.hasBegun) throw broken("malformed");
    if (typeof choice.finish_reason === "string" && choice.finish_reason !== "") {
      this.finished = true;
      this.finishReason = codeOf(choice.finish_reason) ?? "";
    }
    const isMore = isSomething(chunk.usage) || isSomething(delta.tool_calls) || this.finished;
    return choices.length === 1 && isString(delta.content) && !isMore;
  }
}

/** The text of a chunk that has been read before. */
function textAlone(chunk: unknown): unknown {
  return (chunk as { choices?: { delta?: { content?: unknown } }[] } | undefined)?.choices?.[0]?.delta?.content;
}

function parseObject(data: string): Chunk {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw broken("malformed");
  }
  if (!isObject(value)) throw broken("malformed");
  return value;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isSomething = (value: unknown): value is string | number | boolean | object =>
  value !== undefined && value !== null;
const isString = (value: unknown): value is string => typeof value === "string";
const isText = (value: unknown): value is string | unknown[] => isString(value) || Array.isArray(value);

function requireArray(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw broken("malformed");
  return value;
}

/** Whether a word is the one expected. Throws when it is that one, damaged. */
function isSame(word: string, expected: string): boolean {
  if (isDamaged(word, expected)) throw broken("malformed");
  return word === expected;
}

/** A field that may be missing or null, but not of another kind, nor there under a name that was damaged on its way. */
function field<T>(object: Chunk, name: string, isKind: (value: unknown) => value is T): T | undefined {
  const value = object[name];
  if (value !== undefined && value !== null) {
    if (isKind(value)) return value;
    throw broken("malformed");
  }
  const damaged = damagedKey(object, name);
  if (damaged !== undefined && isKind(object[damaged])) throw broken("malformed");
  return undefined;
}

/** Content is a string, or with some providers a list of parts, of which only text is for the visitor. */
function contentText(delta: Record<string, unknown>): string {
  const content = field(delta, "content", isText) ?? "";
  return isString(content) ? content : content.map(partText).join("");
}

function partText(part: unknown): string {
  if (!isObject(part)) throw broken("malformed");
  return isSame(field(part, "type", isString) ?? "", "text") ? (field(part, "text", isString) ?? "") : "";
}

function readUsage(usage: unknown): Usage | undefined {
  if (typeof usage !== "object" || usage === null) return undefined;
  const { prompt_tokens: tokensIn, completion_tokens: tokensOut } = usage as Record<string, unknown>;
  return isCount(tokensIn) && isCount(tokensOut) ? { tokensIn, tokensOut } : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS;
}

function broken(reason: string): ProviderFailure {
  return new ProviderFailure("provider_error", reason, { fault: true });
}

const STATUS_OF_CODE: Record<string, number> = {
  invalid_api_key: 401,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  server_error: 500,
};

/** An error inside a stream that began with 200: by its status if it names one, else by its code. */
function failureOfError(error: unknown): ProviderFailure {
  const body: ErrorBody = typeof error === "object" && error !== null ? error : {};
  for (const value of [body.code, body.status, body.type]) {
    const status = STATUS_OF_CODE[String(value)] ?? Number(value);
    if (Number.isInteger(status) && status >= 400 && status <= 599) {
      return failureOfStatus(status, { providerCode: body.code });
    }
  }
  const detail = codeOf(body.code) ?? codeOf(body.type);
  return new ProviderFailure("provider_error", "stream_error", { fault: true, detail });
}

import { createParser, type EventSourceMessage } from "eventsource-parser";
import { codeOf, failureOfStatus, ProviderFailure } from "../../domain/failure.ts";
import type { Usage } from "../provider.ts";

/** One event may hold a very long token, but not an endless one. */
const MAX_EVENT_CHARACTERS = 8 * 1024 * 1024;
const MAX_TOKENS = 2 ** 31 - 1;

// What we read of a chunk; nothing about it is taken on trust.
type Chunk = { error?: unknown; choices?: unknown; usage?: unknown };
type Choice = { delta?: { content?: unknown } | null; finish_reason?: unknown; error?: unknown };
type ErrorBody = { code?: unknown; status?: unknown; type?: unknown };

/** Reads the body of a streamed chat completion: bytes in, text out. */
export class ChatStreamReader {
  /** A finish reason was read: the reply is whole. */
  finished: boolean = false;
  /** `[DONE]` was read: nothing follows. */
  ended: boolean = false;
  usage: Usage | undefined;
  readonly #decoder = new TextDecoder();
  readonly #parser = createParser({
    maxBufferSize: MAX_EVENT_CHARACTERS,
    onEvent: (event) => this.#read(event),
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") this.#failure ??= broken("too_large");
    },
  });
  #answered: boolean = false;
  #failure: ProviderFailure | undefined;
  #text = "";

  /** Takes what one read brought and returns its text, joined. Throws ProviderFailure when the stream says or is an error. */
  feed(bytes: Uint8Array): string {
    return this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Takes the end of the body. Throws ProviderFailure when it came before the end of the reply. */
  end(): string {
    // Some servers leave out the last blank line.
    const text = this.#take(`${this.#decoder.decode()}\n\n`);
    if (!this.finished && !(this.ended && this.#answered)) {
      throw new ProviderFailure("provider_error", "truncated", { retryable: true, fault: true });
    }
    this.finished = true;
    return text;
  }

  #take(characters: string): string {
    this.#text = "";
    if (this.#failure === undefined) this.#parser.feed(characters);
    if (this.#failure !== undefined && !this.finished) throw this.#failure;
    return this.#text;
  }

  #read(event: EventSourceMessage): void {
    if (this.ended || this.#failure !== undefined) return;
    if (event.data === "[DONE]") {
      this.ended = true;
      if (this.#answered) this.finished = true;
      return;
    }
    const chunk = parseObject(event.data);
    if (chunk === undefined) this.#failure = broken("malformed");
    else if (chunk.error !== undefined && chunk.error !== null) this.#failure = failureOfError(chunk.error);
    else if (event.event === "error") this.#failure = failureOfError(chunk);
    else this.#readChunk(chunk);
  }

  #readChunk(chunk: Chunk): void {
    this.usage = readUsage(chunk.usage) ?? this.usage;
    const choice: unknown = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    if (typeof choice !== "object" || choice === null) return;
    this.#answered = true;
    const { delta, finish_reason: finishReason, error } = choice as Choice;
    if (finishReason === "error") {
      this.#failure = failureOfError(error);
      return;
    }
    this.#text += contentText(delta?.content);
    if (typeof finishReason === "string" && finishReason !== "") this.finished = true;
  }
}

function parseObject(data: string): Chunk | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Content is a string, or with some providers a list of parts, of which only text is for the visitor. */
function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: { type?: unknown; text?: unknown } | null) =>
      part?.type === "text" && typeof part.text === "string" ? part.text : "",
    )
    .join("");
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

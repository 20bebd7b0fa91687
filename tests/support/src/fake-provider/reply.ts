/** One reply of the fake provider. Plain data, so that a script (a list of replies) can be JSON. */
export interface Reply {
  /** HTTP status; 200 by default. With another status and no `body`, the provider sends an error in OpenAI's format. */
  status?: number;
  headers?: Record<string, string>;
  /** Response body that replaces the completion. */
  body?: string;
  /** Chunks or other lines that a stream sends before the first token, `everyMs` apart: an object as `data:`, a string as it is. */
  preamble?: (object | string)[];
  /** The content of each delta. */
  tokens?: string[];
  /** Tool calls after the tokens. The provider streams the arguments in two parts. A reply that is not streamed has no tool calls. */
  toolCalls?: { name: string; arguments: string; id?: string }[];
  /** What the model thinks before the tokens, with the signature that must go back to the provider. OpenAI's format has no signature. */
  thoughts?: { text: string; signature: string };
  /** How many of the prompt's tokens came from the provider's cache. */
  cachedTokens?: number;
  /** Delay before the first token; `everyMs` by default. */
  firstTokenMs?: number;
  /** Delay before each further token. */
  everyMs?: number;
  /**
   * The provider's fault after `afterTokens` tokens:
   * - `cut`: closes the connection;
   * - `stall`: sends nothing more;
   * - `error`: sends an error chunk;
   * - `end`: ends the stream without a finish reason.
   * A reply that is not streamed has the fault before its first byte: `error` sends status 500, and `end` sends status 200 without a body.
   */
  fault?: "cut" | "stall" | "error" | "end";
  afterTokens?: number;
  /** Never sends a response, not even headers. */
  hangs?: boolean;
  /** With null the stream has no finish reason. The default is `tool_calls` if there are tool calls, otherwise `stop`. */
  finishReason?: "stop" | "length" | "content_filter" | "tool_calls" | null;
  /** Delay between the finish reason and the rest: the usage and `data: [DONE]`. */
  usageDelayMs?: number;
  /** Whether the stream ends with `data: [DONE]`; true by default. */
  hasDone?: boolean;
  /** Line ending of the stream; LF by default. */
  newline?: "\n" | "\r\n";
  /** Size of each write, which may split a UTF-8 character. */
  bytesPerWrite?: number;
  /** Whether to send SSE comments between the tokens, like some providers. */
  hasComments?: boolean;
  /** With null the reply has no usage, even if requested. */
  usage?: Usage | null;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

/** A wait that only a closed connection ends: 12 days, because setTimeout accepts less than 25 days. */
export const NEVER_MS = 2 ** 30;

/** The default usage of a reply. Independent of the text, so that a test can distinguish the usage from an estimate. */
export const fixedUsage: Usage = { prompt_tokens: 21, completion_tokens: 34 };

export const defaultTokens = ["Hello", " from", " the", " scripted", " provider", ",", " token", " by", " token", "."];

export const defaultReplyText: string = defaultTokens.join("");

export function withTotal(usage: Usage): object {
  return { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens };
}

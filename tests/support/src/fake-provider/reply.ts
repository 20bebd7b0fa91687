/** One reply of the scripted provider, told in plain data so that it can also come as JSON. */
export interface Reply {
  /** Other than 200: an error document in OpenAI's form, unless `body` says otherwise. */
  status?: number;
  headers?: Record<string, string>;
  /** Sent as it is instead of a completion. */
  body?: string;
  /** The content deltas. */
  tokens?: string[];
  /** Tools it calls after its tokens, their arguments streamed in two pieces. */
  toolCalls?: { name: string; arguments: string; id?: string }[];
  /** Before the first token. */
  firstTokenMs?: number;
  /** Before each further token. */
  everyMs?: number;
  /**
   * What happens after `afterTokens` tokens instead of the rest: the connection is cut, stays silent, carries an error
   * chunk, or the stream ends in good order but too early.
   */
  fault?: "cut" | "stall" | "error" | "end";
  afterTokens?: number;
  /** Never answers, not even with headers. */
  hangs?: boolean;
  /** null: the stream never says why it finished. */
  finishReason?: "stop" | "length" | "content_filter" | "tool_calls" | null;
  /** Between the finish reason and the rest: the usage and `data: [DONE]`. */
  usageDelayMs?: number;
  /** Whether `data: [DONE]` ends the stream. */
  hasDone?: boolean;
  newline?: "\n" | "\r\n";
  /** Sends so many bytes at a time, each in a packet of its own; cuts through characters. */
  bytesPerWrite?: number;
  /** SSE comments between the tokens, as some providers send while they wait. */
  hasComments?: boolean;
  /** null: none are reported, even when asked for. */
  usage?: Usage | null;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

/** What a reply's usage says unless it says otherwise, whatever the text: so a test can tell it from a guess. */
export const fixedUsage: Usage = { prompt_tokens: 21, completion_tokens: 34 };

export const defaultTokens = ["Hello", " from", " the", " scripted", " provider", ",", " token", " by", " token", "."];

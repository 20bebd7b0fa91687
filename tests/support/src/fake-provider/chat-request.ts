import { randomUUID } from "node:crypto";

export interface ChatRequest {
  /** Id of the response. */
  id: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
  /** The last user message. */
  prompt: string;
  isStream: boolean;
  wantsUsage: boolean;
}

/** Parses a request body. Missing fields and fields of another type count as empty. */
export function parseChatRequest(body: unknown): ChatRequest {
  const { model, messages, stream, stream_options: options } = asObject(body);
  const list: unknown[] = Array.isArray(messages) ? messages : [];
  const last = asObject(list.findLast((message) => asObject(message).role === "user"));
  return {
    id: `chatcmpl-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model: typeof model === "string" ? model : "",
    prompt: typeof last.content === "string" ? last.content : "",
    isStream: stream === true,
    wantsUsage: asObject(options).include_usage === true,
  };
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

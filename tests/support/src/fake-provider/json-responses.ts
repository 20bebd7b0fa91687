import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChatRequest } from "./chat-request.ts";
import { defaultTokens, fixedUsage, NEVER_MS, type Reply, withTotal } from "./reply.ts";

export interface JsonReplyOptions {
  reply: Reply;
  /** Aborts when the connection closes, which ends every wait. */
  signal: AbortSignal;
  /** Called before the fault `cut` closes the connection. */
  onCut(): void;
}

/** Sends the reply as one `chat.completion` object, after the sum of its tokens' delays. */
export async function sendCompletion(
  response: ServerResponse,
  { chat, ...options }: JsonReplyOptions & { chat: ChatRequest },
): Promise<void> {
  const { reply, signal } = options;
  const { tokens = defaultTokens, everyMs = 0, firstTokenMs = everyMs } = reply;
  const usage = reply.usage === undefined ? fixedUsage : reply.usage;
  const waitMs = firstTokenMs + everyMs * Math.max(0, tokens.length - 1);
  if (waitMs > 0) await sleep(waitMs, undefined, { signal });
  const message = { role: "assistant", content: tokens.slice(0, reply.afterTokens).join("") };
  const finishReason = reply.finishReason === undefined ? "stop" : reply.finishReason;
  const completion = {
    id: chat.id,
    object: "chat.completion",
    created: chat.created,
    model: chat.model,
    choices: [{ index: 0, message, finish_reason: finishReason }],
    ...(usage && { usage: withTotal(usage) }),
  };
  await sendJsonOrFault(response, completion, options);
}

/** Sends a JSON document, or the reply's fault instead. */
export async function sendJsonOrFault(
  response: ServerResponse,
  document: unknown,
  { reply, signal, onCut }: JsonReplyOptions,
): Promise<void> {
  switch (reply.fault) {
    case "cut":
      onCut();
      response.destroy();
      return;
    case "stall":
      await sleep(NEVER_MS, undefined, { signal });
      return;
    case "end":
      response.writeHead(200, reply.headers).end();
      return;
    case "error":
      sendBodyOrError(response, { ...reply, status: 500 });
      return;
    case undefined:
      sendJson(response, 200, document, reply.headers);
  }
}

/** Without a `body`, sends an error in OpenAI's format. */
export function sendBodyOrError(response: ServerResponse, { status = 500, headers = {}, body }: Reply): void {
  if (body !== undefined) {
    response.writeHead(status, headers).end(body);
    return;
  }
  const codes: Record<number, string> = { 401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded" };
  const error = {
    message: `Scripted status ${status}`,
    type: "scripted_error",
    param: null,
    code: codes[status] ?? null,
  };
  sendJson(response, status, { error }, headers);
}

export function sendJson(response: ServerResponse, status: number, document: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(document));
}

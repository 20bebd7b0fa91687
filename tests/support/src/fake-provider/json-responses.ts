import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChatRequest } from "./chat-request.ts";
import { defaultTokens, fixedUsage, NEVER_MS, type Reply } from "./reply.ts";
import { withTotal } from "./stream.ts";

/** Waits for the sum of the delays of the reply's tokens. Then sends the reply as one `chat.completion` object. */
export async function sendCompletion(
  response: ServerResponse,
  { chat, reply, signal, onCut }: { chat: ChatRequest; reply: Reply; signal: AbortSignal; onCut: () => void },
): Promise<void> {
  const { tokens = defaultTokens, everyMs = 0, firstTokenMs = everyMs } = reply;
  const usage = reply.usage === undefined ? fixedUsage : reply.usage;
  const waitMs = firstTokenMs + everyMs * Math.max(0, tokens.length - 1);
  if (waitMs > 0) await sleep(waitMs, undefined, { signal });
  if (reply.fault === "stall") await sleep(NEVER_MS, undefined, { signal });
  if (reply.fault === "cut") {
    onCut();
    response.destroy();
    return;
  }
  if (reply.fault === "error") {
    sendBodyOrError(response, { status: 500 });
    return;
  }
  const message = { role: "assistant", content: tokens.slice(0, reply.afterTokens).join("") };
  sendJson(response, 200, {
    id: chat.id,
    object: "chat.completion",
    created: chat.created,
    model: chat.model,
    choices: [{ index: 0, message, finish_reason: reply.finishReason === undefined ? "stop" : reply.finishReason }],
    ...(usage && { usage: withTotal(usage) }),
  });
}

/** Sends the reply's `body` with its status. Without a body, sends an error in OpenAI's format. */
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

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep, setImmediate as tick } from "node:timers/promises";
import type { ChatRequest } from "./chat-request.ts";
import { defaultTokens, fixedUsage, NEVER_MS, type Reply } from "./reply.ts";

export interface StreamOptions {
  chat: ChatRequest;
  reply: Reply;
  /** Aborts when the connection closes, which ends every wait. */
  signal: AbortSignal;
  /** Called before each token is sent. */
  onToken(): void;
  /** Called before the fault `cut` closes the connection. */
  onCut(): void;
}

/** Streams a reply as `chat.completion.chunk` events. Injects the reply's fault after `afterTokens` tokens. */
export async function sendStream(
  response: ServerResponse,
  { chat, reply, signal, onToken, onCut }: StreamOptions,
): Promise<void> {
  const {
    tokens = reply.toolCalls ? [] : defaultTokens,
    newline = "\n",
    finishReason = reply.toolCalls ? "tool_calls" : "stop",
    hasDone = true,
  } = reply;
  const usage = reply.usage === undefined ? fixedUsage : reply.usage;
  response.socket?.setNoDelay(true);
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", ...reply.headers });
  response.flushHeaders();

  const write = async (line: string) => {
    const bytes = Buffer.from(`${line}${newline}${newline}`);
    const size = reply.bytesPerWrite ?? bytes.length;
    for (let at = 0; at < bytes.length; at += size) {
      // Respects backpressure, like real providers.
      if (!response.write(bytes.subarray(at, at + size))) await once(response, "drain", { signal });
      if (reply.bytesPerWrite) await tick(undefined, { signal });
    }
  };
  const chunk = (fields: object) =>
    write(
      `data: ${JSON.stringify({ id: chat.id, object: "chat.completion.chunk", created: chat.created, model: chat.model, ...fields })}`,
    );
  const delta = (content: object, reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: content, finish_reason: reason }] });

  await delta({ role: "assistant", content: "" });
  for (const part of reply.preamble ?? []) {
    if (reply.everyMs) await sleep(reply.everyMs, undefined, { signal });
    await write(typeof part === "string" ? part : `data: ${JSON.stringify(part)}`);
  }
  for (const [index, content] of tokens.slice(0, reply.afterTokens).entries()) {
    const waitMs = (index === 0 ? reply.firstTokenMs : undefined) ?? reply.everyMs ?? 0;
    if (waitMs > 0) await sleep(waitMs, undefined, { signal });
    if (reply.hasComments) await write(": still working");
    onToken();
    await delta({ content });
  }
  switch (reply.fault) {
    case "cut":
      await waitForFlush(response);
      onCut();
      response.destroy();
      return;
    case "stall":
      await sleep(NEVER_MS, undefined, { signal });
      return;
    case "end":
      response.end();
      return;
    case "error":
      await write(
        `data: ${JSON.stringify({ error: { message: "The server had an error", type: "server_error", code: null } })}`,
      );
      response.end();
      return;
    case undefined:
  }
  for (const [index, { id = `call_${index}`, name, arguments: json }] of (reply.toolCalls ?? []).entries()) {
    const middle = Math.ceil(json.length / 2);
    const call = (fields: object) => delta({ tool_calls: [{ index, ...fields }] });
    await call({ id, type: "function", function: { name, arguments: "" } });
    for (const part of [json.slice(0, middle), json.slice(middle)]) await call({ function: { arguments: part } });
  }
  if (finishReason) await delta({}, finishReason);
  if (reply.usageDelayMs) await sleep(reply.usageDelayMs, undefined, { signal });
  if (usage && chat.wantsUsage) await chunk({ choices: [], usage: withTotal(usage) });
  if (hasDone) await write("data: [DONE]");
  response.end();
}

export function withTotal(usage: { prompt_tokens: number; completion_tokens: number }): object {
  return { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens };
}

/** Resolves when Node.js has passed all written data to the operating system. */
function waitForFlush(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.write("", () => resolve());
  });
}

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep, setImmediate as tick } from "node:timers/promises";
import { createAnthropicFormat } from "./anthropic-format.ts";
import { createBedrockFormat } from "./bedrock-format.ts";
import type { ChatRequest } from "./chat-request.ts";
import { type CreateFormat, eventOf } from "./format.ts";
import { createGoogleFormat } from "./google-format.ts";
import { createMistralFormat } from "./mistral-format.ts";
import { createOpenAiFormat } from "./openai-format.ts";
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

/** By API. */
const FORMATS: Record<ChatRequest["format"], CreateFormat> = {
  openai: createOpenAiFormat,
  anthropic: createAnthropicFormat,
  google: createGoogleFormat,
  mistral: createMistralFormat,
  bedrock: createBedrockFormat,
};

/** Streams a reply in the format of the request's API. Injects the reply's fault after `afterTokens` tokens. */
export async function sendStream(
  response: ServerResponse,
  { chat, reply, signal, onToken, onCut }: StreamOptions,
): Promise<void> {
  const {
    tokens = reply.toolCalls ? [] : defaultTokens,
    newline = "\n",
    finishReason = reply.toolCalls ? "tool_calls" : "stop",
  } = reply;
  const usage = reply.usage === undefined ? fixedUsage : reply.usage;
  const { [chat.format]: createFormat } = FORMATS;
  const format = createFormat(chat, reply);
  const { contentType = "text/event-stream; charset=utf-8" } = format;
  response.socket?.setNoDelay(true);
  response.writeHead(200, { "content-type": contentType, ...reply.headers });
  response.flushHeaders();

  const write = async (line: string) => {
    const bytes = format.encode?.(line) ?? Buffer.from(`${line}${newline}${newline}`);
    const size = reply.bytesPerWrite ?? bytes.length;
    for (let at = 0; at < bytes.length; at += size) {
      // Respects backpressure, like real providers.
      if (!response.write(bytes.subarray(at, at + size))) await once(response, "drain", { signal });
      if (reply.bytesPerWrite) await tick(undefined, { signal });
    }
  };
  const writeAll = async (lines: readonly string[]) => {
    for (const line of lines) await write(line);
  };

  await writeAll(format.begin);
  for (const part of reply.preamble ?? []) {
    if (reply.everyMs) await sleep(reply.everyMs, undefined, { signal });
    await write(typeof part === "string" ? part : eventOf(part));
  }
  if (reply.thoughts) await writeAll(format.thoughts(reply.thoughts));
  for (const [index, content] of tokens.slice(0, reply.afterTokens).entries()) {
    const waitMs = (index === 0 ? reply.firstTokenMs : undefined) ?? reply.everyMs ?? 0;
    if (waitMs > 0) await sleep(waitMs, undefined, { signal });
    if (reply.hasComments) await write(format.comment);
    onToken();
    await writeAll(format.text(content));
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
      await writeAll(format.error);
      response.end();
      return;
    case undefined:
  }
  if (reply.toolCalls) await writeAll(format.toolCalls(reply.toolCalls));
  if (finishReason) await writeAll(format.finish(finishReason));
  if (reply.usageDelayMs) await sleep(reply.usageDelayMs, undefined, { signal });
  await writeAll(format.end(usage));
  response.end();
}

/** Resolves when Node.js has passed all written data to the operating system. */
function waitForFlush(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.write("", () => resolve());
  });
}

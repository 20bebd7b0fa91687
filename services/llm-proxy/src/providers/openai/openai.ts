import { addAbortSignal } from "node:stream";
import { OpenAI } from "openai";
import { Agent } from "undici";
import { ProviderFailure } from "../../domain/failure.ts";
import { WellFormedText } from "../../domain/well-formed.ts";
import type { OpenAiSettings } from "../../settings/settings.ts";
import type { Provider, ProviderCall } from "../provider.ts";
import { ChatStreamReader } from "./chat-stream.ts";
import { embed } from "./embeddings.ts";
import { toFailure } from "./failure.ts";
import { relayFetch, StreamedResponse } from "./relay-fetch.ts";
import { renderConversation } from "./render-conversation.ts";

/** A provider that speaks OpenAI's chat completions. The SDK makes the call; its stream, which costs most, is not used. */
export function openAiProvider(settings: OpenAiSettings): Provider {
  const agent = new Agent({
    connect: { timeout: settings.timeouts.connectMs },
    // Our own timers see the whole call.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const client = new OpenAI({
    baseURL: settings.baseUrl,
    // The SDK insists on a key; a provider without one gets no header either.
    apiKey: settings.apiKey ?? "none",
    // Null or set, so that the SDK does not look into the environment by itself.
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    logLevel: "off",
    defaultHeaders: { ...(settings.apiKey === undefined && { authorization: null }), ...settings.headers },
    timeout: settings.timeouts.totalMs,
    maxRetries: 0,
    fetch: relayFetch(agent),
  });
  return {
    knows: () => true,
    stream: (call) => stream(client, settings, call),
    embed: (call) => embed(client, call),
    close: () => agent.close(),
  };
}

async function* stream(client: OpenAI, settings: OpenAiSettings, call: ProviderCall): AsyncGenerator<string> {
  const reader = new ChatStreamReader();
  const wellFormed = new WellFormedText();
  let body: StreamedResponse["stream"] | undefined;
  try {
    body = await open(client, settings, call);
    for await (const bytes of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const text = wellFormed.push(reader.feed(bytes));
      report(reader, call);
      if (text !== "") yield text;
      else if (reader.toolCalls.hasBegun) call.onProgress();
      if (reader.ended) break;
    }
    const rest = wellFormed.push(reader.end()) + wellFormed.flush();
    report(reader, call);
    if (rest !== "") yield rest;
  } catch (error) {
    throw toFailure(error, Date.now());
  } finally {
    if (reader.ended) readRest(body);
    else body?.destroy();
  }
}

const REST_MS = 1_000;

/** Lets a body that has said all it had to say come to its end, so that its connection can serve the next call. */
function readRest(body: StreamedResponse["stream"] | undefined): void {
  if (body === undefined || body.readableEnded) return;
  const timer = setTimeout(() => body.destroy(), REST_MS);
  body.once("close", () => clearTimeout(timer));
  body.resume();
}

function report(reader: ChatStreamReader, call: ProviderCall): void {
  if (reader.usage) call.onUsage(reader.usage);
  if (reader.finished) call.onFinished(reader.toolCalls.requests, reader.finishReason);
}

const NO_STREAM = /^(text\/html|application\/json)\b/i;

/** Sends the request and waits for the response's headers. */
async function open(client: OpenAI, settings: OpenAiSettings, call: ProviderCall): Promise<StreamedResponse["stream"]> {
  const response = await client.chat.completions
    .create(
      {
        model: call.model,
        messages: renderConversation(call),
        stream: true,
        ...(call.tools.length > 0 && {
          tools: call.tools.map((each) => ({ type: "function" as const, function: each })),
          ...(call.mustAnswer && { tool_choice: "none" as const }),
        }),
        ...(settings.includeUsage && { stream_options: { include_usage: true } }),
      },
      { signal: call.signal },
    )
    .asResponse();
  if (!(response instanceof StreamedResponse)) throw new TypeError("the response did not come through relayFetch");
  const { stream: body, headers } = response;
  // What closes it is known already; without a listener its last error would end the process.
  body.on("error", () => undefined);
  addAbortSignal(call.signal, body);
  if (NO_STREAM.test(headers.get("content-type") ?? "")) {
    body.destroy();
    throw new ProviderFailure("provider_error", "not_a_stream", { fault: true });
  }
  return body;
}

import { OpenAI } from "openai";
import { Agent } from "undici";
import type { OpenAiSettings } from "../../settings/index.ts";
import { ProviderFailure } from "../failure.ts";
import { fetchThrough } from "../http/fetch-through.client.ts";
import { type Body, drain, streamed } from "../http/response-body.ts";
import type { CompletionRequest, Provider } from "../provider.ts";
import { WellFormedText } from "../well-formed.ts";
import { ChatStreamReader } from "./chat-stream.ts";
import { embed } from "./embeddings.ts";
import { failureOfBody, failureOfRequest } from "./failure.ts";
import { renderMessages } from "./render-messages.ts";

/** How long a response may go on after `[DONE]` before its connection is closed. */
const DRAIN_MS = 1_000;

/** A provider that speaks OpenAI's chat completions API. */
export function openAiProvider(settings: OpenAiSettings): Provider {
  const agent = new Agent({
    connect: { timeout: settings.timeouts.connectMs },
    // The watchdog's timers cover the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const client = new OpenAI({
    baseURL: settings.baseUrl,
    // The SDK requires a key; without one, the header is removed below.
    apiKey: settings.apiKey ?? "none",
    // Null, so that the SDK does not read these from the environment.
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    logLevel: "off",
    defaultHeaders: {
      // A server that compresses an event stream may hold tokens back.
      "accept-encoding": "identity",
      ...(settings.apiKey === undefined && { authorization: null }),
      ...settings.headers,
    },
    timeout: settings.timeouts.totalMs,
    // Parley retries by the provider's own policy.
    maxRetries: 0,
    fetch: fetchThrough(agent),
  });
  return {
    hasModel: () => true,
    stream: (request) => stream(client, settings, request),
    embed: (request) => embed(client, request),
    close: () => agent.close(),
  };
}

async function stream(client: OpenAI, settings: OpenAiSettings, request: CompletionRequest): Promise<void> {
  const body = await openStream(client, settings, request);
  const chat = new ChatStreamReader();
  const wellFormed = new WellFormedText();
  try {
    for await (const bytes of chunks(body)) {
      const text = wellFormed.push(chat.feed(bytes));
      report(chat, request);
      // Backpressure: nothing is read until the sink has room.
      if (text !== "") await request.onText(text);
      else if (chat.toolCalls.hasBegun) request.onProgress();
      if (chat.isDone) break;
      if (chat.isTextComplete) await endText(wellFormed, request);
    }
    const rest = wellFormed.push(chat.end()) + wellFormed.flush();
    report(chat, request);
    if (rest !== "") await request.onText(rest);
  } finally {
    if (chat.isDone) void drain(body, DRAIN_MS);
    else body.destroy();
  }
}

/** Yields the bytes of each read, and leaves the body open when the reader stops. Throws ProviderFailure when the body was cut off. */
async function* chunks(body: Body): AsyncGenerator<Uint8Array> {
  try {
    yield* body.iterator({ destroyOnReturn: false });
  } catch (error) {
    throw failureOfBody(error);
  }
}

/** Ends the text before the token counts arrive. Repeated calls have no effect. */
async function endText(wellFormed: WellFormedText, request: CompletionRequest): Promise<void> {
  const rest = wellFormed.flush();
  if (rest !== "") await request.onText(rest);
  request.onTextComplete();
}

function report(chat: ChatStreamReader, request: CompletionRequest): void {
  if (chat.usage) request.onUsage(chat.usage);
  if (chat.isFinished) request.onFinished(chat.toolCalls.requests, chat.finishReason);
}

const NOT_A_STREAM = /^(text\/html|application\/json)\b/i;

/** Sends the request, waits for the response's headers and returns its body. Throws ProviderFailure. */
async function openStream(client: OpenAI, settings: OpenAiSettings, request: CompletionRequest): Promise<Body> {
  const params: OpenAI.ChatCompletionCreateParamsStreaming = {
    model: request.model,
    messages: renderMessages(request),
    stream: true,
    ...(request.tools.length > 0 && {
      tools: request.tools.map((each) => ({ type: "function" as const, function: each })),
      ...(request.mustAnswer && { tool_choice: "none" as const }),
    }),
    ...(settings.includeUsage && { stream_options: { include_usage: true } }),
  };
  const response = await client.chat.completions
    .create(params, { signal: request.signal })
    .asResponse()
    .catch((error: unknown) => {
      throw failureOfRequest(error);
    });
  const { stream } = streamed(response);
  if (!NOT_A_STREAM.test(response.headers.get("content-type") ?? "")) return stream;
  stream.destroy();
  throw new ProviderFailure("provider_error", "not_a_stream", { fault: true });
}

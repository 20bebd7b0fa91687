import { OpenAI } from "openai";
import { Agent } from "undici";
import type { OpenAiSettings } from "../../settings/index.ts";
import { ProviderFailure } from "../failure.ts";
import type { Provider, ProviderCall } from "../provider.ts";
import { WellFormedText } from "../well-formed.ts";
import { ChatStreamReader } from "./chat-stream.ts";
import { embed } from "./embeddings.ts";
import { Endpoint } from "./endpoint.ts";
import type { IncomingBody } from "./incoming-body.ts";
import { renderConversation } from "./render-conversation.ts";

/** A provider that speaks OpenAI's chat completions. */
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
  });
  const completions = new Endpoint(client, "/chat/completions", agent);
  const embeddings = new Endpoint(client, "/embeddings", agent);
  return {
    knows: () => true,
    stream: (call) => stream(completions, settings, call),
    embed: (call) => embed(embeddings, call),
    close: () => agent.close(),
  };
}

async function stream(endpoint: Endpoint, settings: OpenAiSettings, call: ProviderCall): Promise<void> {
  const reader = new ChatStreamReader();
  const wellFormed = new WellFormedText();
  let body: IncomingBody | undefined;
  try {
    body = await open(endpoint, settings, call);
    for (let bytes = await body.next(); bytes !== undefined; bytes = await body.next()) {
      const text = wellFormed.push(reader.feed(bytes));
      report(reader, call);
      if (text !== "") {
        const taken = call.onText(text);
        if (taken !== undefined) await taken;
      } else if (reader.toolCalls.hasBegun) call.onProgress();
      if (reader.isDone) break;
    }
    const rest = wellFormed.push(reader.end()) + wellFormed.flush();
    report(reader, call);
    if (rest !== "") await call.onText(rest);
  } finally {
    if (reader.isDone) body?.finish(REST_MS);
    else body?.destroy();
  }
}

/** What follows the end of a reply is waited for so long, so that its connection can serve the next. */
const REST_MS = 1_000;

function report(reader: ChatStreamReader, call: ProviderCall): void {
  if (reader.usage) call.onUsage(reader.usage);
  if (reader.isFinished) call.onFinished(reader.toolCalls.requests, reader.finishReason);
}

const NO_STREAM = /^(text\/html|application\/json)\b/i;

/** Asks and waits for the answer's headers. Throws ProviderFailure. */
async function open(endpoint: Endpoint, settings: OpenAiSettings, call: ProviderCall): Promise<IncomingBody> {
  const request: OpenAI.ChatCompletionCreateParamsStreaming = {
    model: call.model,
    messages: renderConversation(call),
    stream: true,
    ...(call.tools.length > 0 && {
      tools: call.tools.map((each) => ({ type: "function" as const, function: each })),
      ...(call.mustAnswer && { tool_choice: "none" as const }),
    }),
    ...(settings.includeUsage && { stream_options: { include_usage: true } }),
  };
  const { headers, body } = await endpoint.post(request, call.signal);
  if (NO_STREAM.test(headers["content-type"] ?? "")) {
    body.destroy();
    throw new ProviderFailure("provider_error", "not_a_stream", { fault: true });
  }
  return body;
}

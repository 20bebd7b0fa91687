import { OpenAI } from "openai";
import type { OpenAiSettings } from "../../settings/index.ts";
import { failureFromBodyError, failureFromReason } from "../failure.ts";
import { isRefusedRequest } from "../finish-reason.ts";
import { createAgent } from "../http/agent.client.ts";
import { asStreamedResponse, READER_STOPPED, type ResponseBody, readText } from "../http/response-body.ts";
import { createStreamingFetch, MAX_ERROR_BODY_BYTES } from "../http/streaming-fetch.client.ts";
import type { CompletionRequest, Provider } from "../provider.ts";
import { readProviderError } from "../provider-error.ts";
import { WellFormedTextBuffer } from "../well-formed-text.ts";
import { createAzureToken } from "./azure-token.client.ts";
import { ChatStreamReader } from "./chat-stream.ts";
import { type Authorize, embed } from "./embeddings.ts";
import { failureFromRequestError } from "./failure.ts";
import { renderMessages } from "./render-messages.ts";

/** How long a response may continue after `[DONE]` before the connection is closed. */
const DRAIN_MS = 1_000;

/** Creates a provider with OpenAI's chat completions API. Connections to an https URL go through `proxyUrl`, if given. */
export function createOpenAiProvider(settings: OpenAiSettings, proxyUrl?: string): Provider {
  const agent = createAgent(settings, proxyUrl);
  const client = new OpenAI({
    baseURL: settings.baseUrl,
    // The SDK requires a key. If none is configured, `defaultHeaders` removes the authorization header.
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
    // Generation and Embedder retry, by the policy in the provider's settings.
    maxRetries: 0,
    fetch: createStreamingFetch(agent),
  });
  const readToken = settings.tokenScope === undefined ? undefined : createAzureToken(settings.tokenScope);
  const authorize: Authorize = async (signal) =>
    readToken === undefined ? {} : { authorization: `Bearer ${await readToken(signal)}` };
  return {
    hasModel: () => true,
    stream: (request) => stream({ client, settings, authorize }, request),
    embed: (request) => embed(client, authorize, request),
    close: () => agent.close(),
  };
}

type Connection = { client: OpenAI; settings: OpenAiSettings; authorize: Authorize };

async function stream(connection: Connection, request: CompletionRequest): Promise<void> {
  const body = await openStream(connection, request);
  if (body === "refused") {
    request.onFinished({ stopCause: "refusal", finishReason: "content_filter", toolRequests: [] });
    return;
  }
  const toolNames = request.tools.map(({ name }) => name);
  const chat = new ChatStreamReader({ toolNames, round: request.toolRounds.length });
  const wellFormed = new WellFormedTextBuffer();
  try {
    for (let bytes = await readChunk(body); bytes !== undefined; bytes = await readChunk(body)) {
      request.onSignOfLife();
      const text = wellFormed.push(chat.feed(bytes));
      if (text === "" && chat.hasOutput) request.onThoughts();
      const backpressure = text === "" ? undefined : request.onText(text);
      reportFinish(chat, request);
      // Backpressure: nothing is read until the sink has room.
      await backpressure;
      if (chat.hasDoneMarker) break;
      if (chat.isTextComplete) await completeText(wellFormed, request);
    }
    const rest = wellFormed.push(chat.end()) + wellFormed.flush();
    const backpressure = rest === "" ? undefined : request.onText(rest);
    reportFinish(chat, request);
    await backpressure;
  } finally {
    if (chat.usage) request.onUsage(chat.usage);
    if (chat.hasDoneMarker) void body.drain(DRAIN_MS);
    else body.abort(READER_STOPPED);
  }
}

/** Returns undefined at the end of the body. Throws ProviderFailure if the body was cut off. */
async function readChunk(body: ResponseBody): Promise<Uint8Array | undefined> {
  try {
    return (await body.next()).value;
  } catch (error) {
    throw failureFromBodyError(error);
  }
}

/** Reports, before the token counts arrive, that the text is complete. Called again for each later chunk. */
async function completeText(wellFormed: WellFormedTextBuffer, request: CompletionRequest): Promise<void> {
  const rest = wellFormed.flush();
  if (rest !== "") await request.onText(rest);
  request.onTextComplete();
}

/**
 * Must be called after `onText` accepted the text that arrived with the finish reason: if `onText` throws, the completion has not finished.
 * Must be called before waiting for room in the sink: a timeout during that wait must not fail a finished completion.
 */
function reportFinish(chat: ChatStreamReader, request: CompletionRequest): void {
  if (chat.isFinished) request.onFinished(chat.completion);
}

/** Content types of responses that are not event streams despite their status 200, such as error pages. */
const NOT_A_STREAM = /^(text\/html|application\/json)\b/i;

/**
 * Returns `refused` if the provider declines to answer the prompt. Throws ProviderFailure if the request fails otherwise, or if the response's
 * content type matches NOT_A_STREAM.
 */
async function openStream(
  { client, settings, authorize }: Connection,
  request: CompletionRequest,
): Promise<ResponseBody | "refused"> {
  const { temperature, topP, reasoningEffort, maxOutputTokens } = request.sampling;
  const params: OpenAI.ChatCompletionCreateParamsStreaming = {
    model: request.model,
    messages: renderMessages(request),
    stream: true,
    ...(request.tools.length > 0 && {
      tools: request.tools.map((each) => ({ type: "function" as const, function: each })),
      ...(request.mustAnswerWithoutTools && { tool_choice: "none" as const }),
    }),
    ...(maxOutputTokens !== undefined && { [settings.maxTokensParameter]: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(reasoningEffort !== undefined && { reasoning_effort: reasoningEffort }),
    ...(settings.includeUsage && { stream_options: { include_usage: true } }),
  };
  const headers = await authorize(request.signal);
  const response = await client.chat.completions
    .create(params, { signal: request.signal, headers })
    .asResponse()
    .catch((error: unknown) => {
      if (isRefusedRequest(error)) return "refused" as const;
      throw failureFromRequestError(error);
    });
  if (response === "refused") return response;
  const { stream } = asStreamedResponse(response);
  if (!NOT_A_STREAM.test(response.headers.get("content-type") ?? "")) return stream;
  const text = await readText(stream, MAX_ERROR_BODY_BYTES).catch(() => "");
  throw failureFromReason("not_a_stream", { status: response.status, ...readProviderError(text) });
}

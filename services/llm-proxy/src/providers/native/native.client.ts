import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { hasCloudCredentials, type NativeSettings, type Sampling, type SamplingProblem } from "../../settings/index.ts";
import {
  createTruncatedFailure,
  failureFromConnectError,
  failureFromCredentialsError,
  failureFromReason,
} from "../failure.ts";
import { createAgent } from "../http/agent.client.ts";
import { READER_STOPPED, type ResponseBody, readText, StreamedResponse } from "../http/response-body.ts";
import { createStreamingFetch, MAX_ERROR_BODY_BYTES } from "../http/streaming-fetch.client.ts";
import type { CompletionRequest, Provider } from "../provider.ts";
import { readProviderError } from "../provider-error.ts";
import { waitUnlessAborted } from "../wait-unless-aborted.ts";
import { WellFormedTextBuffer } from "../well-formed-text.ts";
import { createEventCheck } from "./body-check.ts";
import { toWebStream } from "./event-stream-body.ts";
import { isRefusal, toFailure } from "./failure.ts";
import type { CreateModel, NativeApi } from "./native-api.ts";
import { NATIVE_APIS } from "./native-apis.client.ts";
import { findRefusedSetting } from "./refused-setting.ts";
import { renderMessages, renderResults } from "./render-messages.ts";
import { StreamReader } from "./stream-reader.ts";

/** How long a response may continue after the model has finished before the connection is closed. */
const DRAIN_MS = 1_000;

/**
 * Creates a provider with an API of its own, through the package of Vercel's AI SDK for that API. Parley uses the package's LanguageModel only, which
 * sends one request and does not retry. Connections to an https URL go through `proxyUrl`, if given.
 */
export function createNativeProvider(settings: NativeSettings, proxyUrl?: string): Provider {
  const agent = createAgent(settings, proxyUrl);
  const send = createStreamingFetch(agent);
  const { [settings.kind]: api } = NATIVE_APIS;
  const models = api.load();
  // The error is reported by the requests that await the promise.
  models.catch(() => undefined);
  return {
    hasModel: () => true,
    findSettingProblem: (model, checked) => findSettingProblem({ api, settings }, model, checked),
    stream: async (request) => stream({ api, createModel: await models, settings, send }, request),
    close: () => agent.close(),
  };
}

type Connection = { api: NativeApi; createModel: CreateModel; settings: NativeSettings; send: typeof fetch };

async function stream({ api, createModel, settings, send }: Connection, request: CompletionRequest): Promise<void> {
  let body: ResponseBody | undefined;
  let isSent = false;
  const fetchBody: typeof fetch = async (url, init) => {
    isSent = true;
    const response = await sendRequest(send, url, init);
    if (!(response instanceof StreamedResponse)) return response;
    body = response.stream;
    const check = (api.createBodyCheck ?? createEventCheck)();
    return new Response(toWebStream(body, { check, onBytes: request.onSignOfLife }), response);
  };
  const openStream = async () => {
    const model = await createModel({ settings, model: request.model, fetch: fetchBody });
    return model.doStream(createOptions(api, request));
  };
  try {
    const result = await waitUnlessAborted(openStream(), request.signal).catch((error: unknown) => {
      if (isRefusal(error)) return "refused" as const;
      if (!isSent && hasCloudCredentials(settings)) throw failureFromCredentialsError(error);
      // Without a response, the SDK could not build the request.
      throw toFailure(error, body === undefined ? "internal" : "malformed");
    });
    if (result === "refused") {
      request.onFinished({ stopCause: "refusal", finishReason: "content_filter", toolRequests: [] });
      return;
    }
    const parts = result.stream.getReader();
    await passOn(parts, request);
    if (body !== undefined) void drain(parts, body);
  } catch (error) {
    body?.abort(READER_STOPPED);
    throw error;
  }
}

function createOptions(api: NativeApi, request: CompletionRequest): LanguageModelV4CallOptions {
  const { tools, mustAnswerWithoutTools, toolRounds, signal } = request;
  const cacheMark = api.findCacheMark?.(request.model);
  return {
    prompt:
      api.losesCallsWithoutTools && mustAnswerWithoutTools
        ? [...renderMessages({ ...request, toolRounds: [] }, cacheMark), ...renderResults(toolRounds)]
        : renderMessages(request, cacheMark),
    abortSignal: signal,
    ...renderSampling(request.sampling),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function" as const,
        name,
        description,
        inputSchema: parameters,
      })),
      toolChoice: { type: mustAnswerWithoutTools ? ("none" as const) : ("auto" as const) },
    }),
  };
}

function renderSampling({ reasoningEffort, ...rest }: Sampling) {
  return { ...rest, ...(reasoningEffort !== undefined && { reasoning: reasoningEffort }) };
}

/** Lets the package build a request with the settings, and returns the first of its warnings about a setting. Sends nothing. */
async function findSettingProblem(
  { api, settings }: Pick<Connection, "api" | "settings">,
  model: string,
  { sampling, asked }: { sampling: Sampling; asked: Sampling },
): Promise<SamplingProblem | undefined> {
  const createModel = await (api.loadOffline ?? api.load)();
  const fetchNothing = async () => new Response(NO_EVENTS, { headers: { "content-type": "text/event-stream" } });
  // A key instead of the cloud's credentials, because nothing is sent.
  const built = await createModel({ settings: { ...settings, apiKey: "none" }, model, fetch: fetchNothing });
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }];
  const { stream } = await built.doStream({ prompt, ...renderSampling(sampling) });
  const reader = stream.getReader();
  const { value: part } = await reader.read();
  void reader.cancel();
  return part?.type === "stream-start" ? findRefusedSetting(part.warnings, asked) : undefined;
}

/** A comment, because a response without any event is an error for some packages. */
const NO_EVENTS = ": nothing was sent\n\n";

/** Passes the text of a stream on until the model has finished. */
async function passOn(
  parts: ReadableStreamDefaultReader<LanguageModelV4StreamPart>,
  request: CompletionRequest,
): Promise<void> {
  const reader = new StreamReader({
    toolNames: request.tools.map(({ name }) => name),
    round: request.toolRounds.length,
  });
  const wellFormed = new WellFormedTextBuffer();
  try {
    while (reader.completion === undefined) {
      const { value: part } = await parts.read().catch((error: unknown) => {
        throw toFailure(error);
      });
      if (part === undefined) throw createTruncatedFailure();
      const piece = wellFormed.push(reader.push(part));
      const text = reader.completion === undefined ? piece : piece + wellFormed.flush();
      if (text === "" && reader.hasOutput) request.onThoughts();
      const backpressure = text === "" ? undefined : request.onText(text);
      // Called before waiting for room in the sink: a timeout during that wait must not fail a finished completion.
      if (reader.completion !== undefined) request.onFinished(reader.completion);
      // Backpressure: nothing is read until the sink has room.
      await backpressure;
    }
  } finally {
    if (reader.usage !== undefined) request.onUsage(reader.usage);
  }
}

/** Reads the rest, so that the connection can serve the next request. If the response has not ended after DRAIN_MS, closes the connection. */
async function drain(parts: ReadableStreamDefaultReader<LanguageModelV4StreamPart>, body: ResponseBody): Promise<void> {
  const timer = setTimeout(() => body.abort(READER_STOPPED), DRAIN_MS);
  try {
    while (!(await parts.read()).done);
  } catch {
    // The completion has arrived, so a broken connection does not matter.
  } finally {
    clearTimeout(timer);
  }
}

/** Content types of responses that are not event streams despite their status 200, such as error pages. */
const NOT_A_STREAM = /^(text\/html|application\/json)\b/i;

/** Throws ProviderFailure if the provider is unreachable, or if the response's content type matches NOT_A_STREAM. */
async function sendRequest(send: typeof fetch, ...[url, init]: Parameters<typeof fetch>): Promise<Response> {
  const headers = new Headers(init?.headers);
  // A server that compresses an event stream may hold tokens back.
  headers.set("accept-encoding", "identity");
  const response = await send(url, { ...init, headers }).catch((error: unknown) => {
    throw failureFromConnectError(error);
  });
  if (!(response instanceof StreamedResponse) || !NOT_A_STREAM.test(response.headers.get("content-type") ?? ""))
    return response;
  const text = await readText(response.stream, MAX_ERROR_BODY_BYTES).catch(() => "");
  throw failureFromReason("not_a_stream", { status: response.status, ...readProviderError(text) });
}

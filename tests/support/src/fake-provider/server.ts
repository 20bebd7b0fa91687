import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { parseChatRequest } from "./chat-request.ts";
import { embeddingResponse, parseEmbeddingRequest } from "./embeddings.ts";
import { sendBodyOrError, sendCompletion, sendJson, sendJsonOrFault } from "./json-responses.ts";
import { listedModels, replyOfModel } from "./models.ts";
import { NEVER_MS, type Reply } from "./reply.ts";
import { type StreamOptions, sendStream } from "./stream.ts";

/** A received chat completion or embeddings request. Times are milliseconds since 1970. */
export interface ReceivedRequest {
  headers: IncomingHttpHeaders;
  body: unknown;
  model: string;
  receivedAt: number;
  tokensSent: number;
  lastTokenAt?: number;
  /** When the client closed the connection before the reply ended. */
  closedByClientAt?: number;
  /** When the reply ended, or when the reply's fault `cut` closed the connection. */
  endedAt?: number;
}

/**
 * The replies to the next requests in order, or a function that returns a reply. A chat completion without a scripted reply gets the reply
 * that its model's name selects. An embeddings request without a scripted reply gets embeddings of its inputs.
 */
export type Script = Reply[] | ((request: ReceivedRequest, index: number) => Reply | undefined);

export interface FakeProvider {
  /** The base URL for clients of all APIs, ending in /v1. */
  url: string;
  port: number;
  requests: ReceivedRequest[];
  closedByClient(): ReceivedRequest[];
  /** Replaces the script, including its unused replies. */
  script(script: Script): void;
  reset(): void;
  close(): Promise<void>;
}

/**
 * Starts a scripted provider with the APIs of OpenAI, Azure (`/openai/v1`), Anthropic (`/v1/messages`), Mistral (`/mistral/v1`), Gemini (`/v1/models/…:streamGenerateContent`) and
 * Bedrock (`/v1/model/…/converse-stream`). Another process can read `GET /requests` and send a list of replies to `PUT /script`.
 */
export async function startFakeProvider(
  script: Script = [],
  { port = 0, host = "127.0.0.1" } = {},
): Promise<FakeProvider> {
  const requests: ReceivedRequest[] = [];
  let current = copyOf(script);
  const provider = {
    requests,
    closedByClient: () => requests.filter((request) => request.closedByClientAt !== undefined),
    script: (next: Script) => {
      current = copyOf(next);
    },
    reset: () => {
      requests.length = 0;
      current = [];
    },
  };

  function recordRequest({ headers }: IncomingMessage, response: ServerResponse, body: unknown, model: string) {
    const closed = new AbortController();
    const received: ReceivedRequest = { headers, body, model, receivedAt: Date.now(), tokensSent: 0 };
    const markEnded = () => {
      received.endedAt = Date.now();
    };
    response.once("finish", markEnded);
    response.once("close", () => {
      // If the server no longer listens, it closed the connection itself.
      if (received.endedAt === undefined && server.listening) received.closedByClientAt = Date.now();
      closed.abort();
    });
    const index = requests.push(received) - 1;
    const scripted = typeof current === "function" ? current(received, index) : current.shift();
    return { received, scripted, signal: closed.signal, markEnded };
  }

  async function embed(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = await json(request).catch(() => undefined);
    const embeddings = parseEmbeddingRequest(body);
    const model = embeddings?.model ?? "";
    const { scripted: reply = {}, signal, markEnded } = recordRequest(request, response, body, model);
    if (reply.firstTokenMs) await sleep(reply.firstTokenMs, undefined, { signal });
    if (reply.hangs) await sleep(NEVER_MS, undefined, { signal });
    else if (reply.body !== undefined || (reply.status ?? 200) !== 200)
      sendBodyOrError(response, { status: 200, ...reply });
    else if (embeddings === undefined) sendBodyOrError(response, { status: 400 });
    else await sendJsonOrFault(response, embeddingResponse(embeddings), { reply, signal, onCut: markEnded });
  }

  async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = await json(request).catch(() => undefined);
    const chat = parseChatRequest(body, new URL(request.url ?? "/", "http://localhost").pathname);
    const { received, scripted, signal, markEnded } = recordRequest(request, response, body, chat.model);
    await sendReply(response, {
      chat,
      reply: scripted ?? replyOfModel(chat.model, chat.prompt),
      signal,
      onToken: () => {
        received.tokensSent++;
        received.lastTokenAt = Date.now();
      },
      onCut: markEnded,
    });
  }

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    if (request.method === "POST" && /:streamGenerateContent$|\/converse-stream$/.test(pathname))
      return await complete(request, response);
    switch (`${request.method} ${pathname}`) {
      case "POST /v1/chat/completions":
      case "POST /v1/messages":
      case "POST /openai/v1/chat/completions":
      case "POST /mistral/v1/chat/completions":
        return await complete(request, response);
      case "POST /v1/embeddings":
      case "POST /openai/v1/embeddings":
        return await embed(request, response);
      case "GET /v1/models":
        return sendJson(response, 200, { object: "list", data: listedModels.map((id) => ({ id, object: "model" })) });
      case "GET /requests":
        return sendJson(response, 200, requests);
      case "PUT /script":
        provider.script((await json(request)) as Reply[]);
        return sendJson(response, 200, {});
      default:
        return sendBodyOrError(response, { status: 404 });
    }
  }

  const server = createServer((request, response) => {
    route(request, response).catch((error: unknown) => {
      // A wait throws an AbortError when the client closes the connection.
      if (!(error instanceof Error && error.name === "AbortError")) throw error;
    });
  }).listen(port, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the provider has no port");
  return {
    ...provider,
    url: `http://${host}:${address.port}/v1`,
    port: address.port,
    close: async () => {
      const closed = once(server.close(), "close");
      server.closeAllConnections();
      await closed;
    },
  };
}

async function sendReply(response: ServerResponse, options: StreamOptions): Promise<void> {
  const { chat, reply, signal } = options;
  if (reply.hangs) await sleep(NEVER_MS, undefined, { signal });
  else if (reply.body !== undefined || (reply.status ?? 200) !== 200)
    sendBodyOrError(response, { status: 200, ...reply });
  else if (chat.isStream) await sendStream(response, options);
  else await sendCompletion(response, options);
}

function copyOf(script: Script): Script {
  return typeof script === "function" ? script : [...script];
}

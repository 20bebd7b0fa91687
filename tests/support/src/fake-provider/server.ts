import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { readChat } from "./chat.ts";
import { embeddingDocument, readEmbeddingRequest } from "./embeddings.ts";
import { listedModels, replyOfModel } from "./models.ts";
import type { Reply } from "./reply.ts";
import { type StreamOptions, sendStream } from "./stream.ts";
import { sendError, sendJson, sendWhole } from "./whole.ts";

/** A chat completion that was asked for, or embeddings. Times are milliseconds since 1970. */
export interface ReceivedRequest {
  headers: IncomingHttpHeaders;
  body: unknown;
  model: string;
  receivedAt: number;
  tokensSent: number;
  /** When the last of them was sent. */
  lastTokenAt?: number;
  /** When the client closed the connection before the reply's end. */
  closedByClientAt?: number;
  /** When the reply was sent to its end, or to the script's cut. */
  endedAt?: number;
}

/** The replies of the next requests in their order, or what decides each; where it says nothing, the model's name does. */
export type Script = Reply[] | ((request: ReceivedRequest, index: number) => Reply | undefined);

export interface FakeProvider {
  /** The base URL for OpenAI's clients, ending in /v1. */
  url: string;
  port: number;
  requests: ReceivedRequest[];
  /** Those whose client left before the end. */
  closedByClient(): ReceivedRequest[];
  /** Replaces what is left of the script. */
  script(script: Script): void;
  /** Forgets the requests and the script. */
  reset(): void;
  close(): Promise<void>;
}

/**
 * An OpenAI-compatible provider that does as it is told: real HTTP on 127.0.0.1 unless told otherwise, `POST /v1/chat/completions` whole and
 * streamed, `POST /v1/embeddings`, `GET /v1/models`. Over HTTP, `GET /requests` and `PUT /script` (a list of replies) do what the object does.
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

  /** Notes a request, and what the script says to it. */
  function receive({ headers }: IncomingMessage, response: ServerResponse, body: unknown, model: string) {
    const gone = new AbortController();
    const received: ReceivedRequest = { headers, body, model, receivedAt: Date.now(), tokensSent: 0 };
    const end = () => {
      received.endedAt = Date.now();
    };
    response.once("finish", end);
    response.once("close", () => {
      if (received.endedAt === undefined && server.listening) received.closedByClientAt = Date.now();
      gone.abort();
    });
    const index = requests.push(received) - 1;
    const told = typeof current === "function" ? current(received, index) : current.shift();
    return { received, told, signal: gone.signal, end };
  }

  async function embed(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = await json(request).catch(() => undefined);
    const asked = readEmbeddingRequest(body);
    const { told = {}, signal, end } = receive(request, response, body, asked?.model ?? "");
    if (told.firstTokenMs) await sleep(told.firstTokenMs, undefined, { signal });
    if (told.hangs) await sleep(2 ** 30, undefined, { signal });
    else if (told.fault === "cut") {
      end();
      response.destroy();
    } else if (told.body !== undefined || (told.status ?? 200) !== 200) sendError(response, { status: 200, ...told });
    else if (asked === undefined) sendError(response, { status: 400 });
    else sendJson(response, 200, embeddingDocument(asked));
  }

  async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = await json(request).catch(() => undefined);
    const chat = readChat(body);
    const { received, told, signal, end } = receive(request, response, body, chat.model);
    await send(response, {
      chat,
      reply: told ?? replyOfModel(chat.model, chat.prompt),
      signal,
      onToken: () => {
        received.tokensSent++;
        received.lastTokenAt = Date.now();
      },
      onCut: end,
    });
  }

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    switch (`${request.method} ${new URL(request.url ?? "/", "http://localhost").pathname}`) {
      case "POST /v1/chat/completions":
        return await complete(request, response);
      case "POST /v1/embeddings":
        return await embed(request, response);
      case "GET /v1/models":
        return sendJson(response, 200, { object: "list", data: listedModels.map((id) => ({ id, object: "model" })) });
      case "GET /requests":
        return sendJson(response, 200, requests);
      case "PUT /script":
        provider.script((await json(request)) as Reply[]);
        return sendJson(response, 200, {});
      default:
        return sendError(response, { status: 404 });
    }
  }

  const server = createServer((request, response) => {
    route(request, response).catch((error: unknown) => {
      // Waiting ends this way when the client has gone.
      if (!(error instanceof Error && error.name === "AbortError")) throw error;
    });
  }).listen(port, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the provider has no port");
  return {
    ...provider,
    url: `http://127.0.0.1:${address.port}/v1`,
    port: address.port,
    close: async () => {
      const closed = once(server.close(), "close");
      server.closeAllConnections();
      await closed;
    },
  };
}

async function send(response: ServerResponse, options: StreamOptions): Promise<void> {
  const { chat, reply, signal } = options;
  if (reply.hangs) await sleep(2 ** 30, undefined, { signal });
  else if (reply.body !== undefined || (reply.status ?? 200) !== 200) sendError(response, { status: 200, ...reply });
  else if (chat.isStream) await sendStream(response, options);
  else await sendWhole(response, options);
}

function copyOf(script: Script): Script {
  return typeof script === "function" ? script : [...script];
}

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

export interface ToolServerRequest {
  method: string;
  /** Path and query, not decoded. */
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** When the client closed the connection before the end of the response, in Unix milliseconds. */
  closedByClientAt?: number;
}

export interface ToolServerResponse {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  delayMs?: number;
  /** Whether the server never responds. */
  hangs?: boolean;
}

export interface ToolServer {
  /** The origin, without a trailing slash. */
  url: string;
  port: number;
  requests: ToolServerRequest[];
  /** Sets the function that chooses the responses. */
  respondWith(choose: (request: ToolServerRequest) => ToolServerResponse): void;
  close(): Promise<void>;
}

/** Starts a scripted HTTP server for tool calls. It listens on all interfaces and records the requests. */
export async function startToolServer(): Promise<ToolServer> {
  const requests: ToolServerRequest[] = [];
  let choose: (request: ToolServerRequest) => ToolServerResponse = () => ({ body: '{"ok":true}' });
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const received: ToolServerRequest = { method, url, headers, body: await text(request) };
    requests.push(received);
    response.once("close", () => {
      if (!response.writableFinished && server.listening) received.closedByClientAt = Date.now();
    });
    const { status = 200, headers: extraHeaders = {}, body = "", delayMs = 0, hangs = false } = choose(received);
    if (hangs) return;
    if (delayMs > 0) await sleep(delayMs);
    response.writeHead(status, { "content-type": "application/json", ...extraHeaders }).end(body);
  }).listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    respondWith: (next) => {
      choose = next;
    },
    close: async () => {
      const closed = once(server.close(), "close");
      server.closeAllConnections();
      await closed;
    },
  };
}

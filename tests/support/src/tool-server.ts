import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** A request that a tool's server has had. Times are milliseconds since 1970. */
export interface ToolServerRequest {
  method: string;
  /** Path and query, as they came. */
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** When the client closed the connection before the answer's end. */
  closedByClientAt?: number;
}

export interface ToolServerAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  delayMs?: number;
  /** Never answers. */
  hangs?: boolean;
}

export interface ToolServer {
  /** The origin, without a slash at its end. */
  url: string;
  port: number;
  requests: ToolServerRequest[];
  /** Decides what is answered from now on. */
  answer(decide: (request: ToolServerRequest) => ToolServerAnswer): void;
  close(): Promise<void>;
}

/** An HTTP server for tools to call: listens on every loopback address, notes what it is asked, and answers as it is told. */
export async function startToolServer(): Promise<ToolServer> {
  const requests: ToolServerRequest[] = [];
  let decide: (request: ToolServerRequest) => ToolServerAnswer = () => ({ body: '{"ok":true}' });
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const received: ToolServerRequest = { method, url, headers, body: await text(request) };
    requests.push(received);
    response.once("close", () => {
      if (!response.writableFinished && server.listening) received.closedByClientAt = Date.now();
    });
    const { status = 200, headers: given = {}, body = "", delayMs = 0, hangs = false } = decide(received);
    if (hangs) return;
    if (delayMs > 0) await sleep(delayMs);
    response.writeHead(status, { "content-type": "application/json", ...given }).end(body);
  }).listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    answer: (next) => {
      decide = next;
    },
    close: async () => {
      const closed = once(server.close(), "close");
      server.closeAllConnections();
      await closed;
    },
  };
}

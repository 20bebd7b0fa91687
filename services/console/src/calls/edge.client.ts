import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { request } from "undici";

/** `method` is GET by default. The timeouts are undici's: to the headers, and between two parts of the body; 300 s by default. */
export type EdgeRequest = {
  path: string;
  method?: "GET" | "POST";
  headers: Record<string, string>;
  body?: string;
  headersTimeout?: number;
  bodyTimeout?: number;
  signal: AbortSignal;
};

/** The edge's response. If the edge compressed the body, it stays compressed. */
export type EdgeResponse = { status: number; headers: IncomingHttpHeaders; body: Readable };

/** Sends a request to the edge. Rejects if the edge does not answer. */
export type CallEdge = (request: EdgeRequest) => Promise<EdgeResponse>;

/** Creates a client of the edge. Uses undici's `request`, because `fetch` would decompress the body. */
export function createCallEdge(edgeUrl: string): CallEdge {
  return async ({ path, ...options }) => {
    const { statusCode, headers, body } = await request(new URL(path, edgeUrl), options);
    return { status: statusCode, headers, body };
  };
}

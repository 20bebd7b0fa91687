import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { request } from "undici";
import type { AdminResponse } from "./admin-calls.client.ts";

export type EdgeRequest = {
  method: "GET" | "POST" | "DELETE";
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
  signal: AbortSignal;
};

/** The edge's response. If the edge compressed the body, it stays compressed. */
export type EdgeResponse = { status: number; headers: IncomingHttpHeaders; body: Readable };

/** Sends a request to the edge's owner API. Rejects if the edge does not answer. */
export type CallEdge = (request: EdgeRequest) => Promise<EdgeResponse>;

/** Lists the conversations of the caller's workspace. The edge receives `query`, the query string of GET /api/conversations/, unchanged. */
export type ListConversations = (query: string, authorization: string, signal: AbortSignal) => Promise<AdminResponse>;

export const CONVERSATIONS_PATH = "/api/conversations/";
const LIST_TIMEOUT_MS = 10_000;
const METHOD_LABEL = `GET ${CONVERSATIONS_PATH}`;

/** Creates a client of the edge. Uses undici's `request`, because `fetch` would decompress the body. */
export function createCallEdge(edgeUrl: string): CallEdge {
  return async ({ path, ...options }) => {
    const { statusCode, headers, body } = await request(new URL(path, edgeUrl), options);
    return { status: statusCode, headers, body };
  };
}

/** Creates the function that lists conversations. The function returns status 503 if the edge does not answer. */
export function createListConversations(
  callEdge: CallEdge,
  onResponse: (method: string, status: number) => void,
): ListConversations {
  return async (query, authorization, signal) => {
    try {
      const response = await callEdge({
        method: "GET",
        path: `${CONVERSATIONS_PATH}?${query}`,
        headers: { authorization },
        signal: AbortSignal.any([signal, AbortSignal.timeout(LIST_TIMEOUT_MS)]),
      });
      const body = await buffer(response.body);
      onResponse(METHOD_LABEL, response.status);
      return { status: response.status, contentType: "application/json", code: undefined, body };
    } catch (cause) {
      if (signal.aborted) throw cause;
      onResponse(METHOD_LABEL, 503);
      const body = Buffer.from(JSON.stringify({ detail: "unavailable" }));
      return { status: 503, contentType: "application/json", code: "unavailable", body };
    }
  };
}

import type { AdminResponse } from "./admin-calls.client.ts";

/** Sends a GET to the edge's owner API. Rejects if the edge does not answer. */
export type FetchFromEdge = (path: string, headers: Record<string, string>, signal: AbortSignal) => Promise<Response>;

/** Lists the owner's conversations: the query of GET /api/conversations/, unchanged. */
export type ListConversations = (query: string, authorization: string, signal: AbortSignal) => Promise<AdminResponse>;

export const CONVERSATIONS_PATH = "/api/conversations/";
const LIST_TIMEOUT_MS = 10_000;
const METRIC_NAME = `GET ${CONVERSATIONS_PATH}`;

/** Creates a client of the edge. */
export function createFetchFromEdge(edgeUrl: string): FetchFromEdge {
  return (path, headers, signal) => fetch(new URL(path, edgeUrl), { headers, signal, redirect: "error" });
}

/** Creates the call that lists conversations. An edge that does not answer gives the status 503. */
export function createListConversations(
  fetchFromEdge: FetchFromEdge,
  onResponse: (method: string, status: number) => void,
): ListConversations {
  return async (query, authorization, signal) => {
    const timeLimit = AbortSignal.any([signal, AbortSignal.timeout(LIST_TIMEOUT_MS)]);
    try {
      const response = await fetchFromEdge(`${CONVERSATIONS_PATH}?${query}`, { authorization }, timeLimit);
      const body = Buffer.from(await response.arrayBuffer());
      onResponse(METRIC_NAME, response.status);
      return { status: response.status, contentType: "application/json", code: undefined, body };
    } catch (cause) {
      if (signal.aborted) throw cause;
      onResponse(METRIC_NAME, 503);
      const body = Buffer.from(JSON.stringify({ detail: "unavailable" }));
      return { status: 503, contentType: "application/json", code: "unavailable", body };
    }
  };
}

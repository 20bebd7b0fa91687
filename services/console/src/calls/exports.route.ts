import type { FastifyInstance } from "fastify";
import { HttpError, responseCloseSignal } from "../http/index.ts";
import type { Authenticate } from "../sign-in/index.ts";
import type { CallEdge } from "./edge.client.ts";

export type ExportDeps = {
  authenticate: Authenticate;
  callEdge: CallEdge;
  /** Called for each response of the edge, or with 503 if the edge did not answer. `method` is the HTTP method and the route's path. */
  onResponse: (method: string, status: number) => void;
};

const PATHS = ["/api/conversations/export.csv", "/api/conversations/export.ndjson"];
const RESPONSE_HEADERS = [
  ...["content-type", "content-disposition", "content-encoding", "content-length", "cache-control", "vary"],
  ...["retry-after", "ratelimit", "ratelimit-policy"],
];
/** The page loads exports in a frame, so that it can read and show an error. */
const FRAMED_BY_CONSOLE = "default-src 'none'; frame-ancestors 'self'";

/**
 * Forwards downloads of many conversations to the edge with the member's access token, which scripts of the page cannot read. Does not limit
 * them: a slow reader can keep an export open for long, and the edge limits exports.
 */
export function exportRoutes(app: FastifyInstance, { authenticate, callEdge, onResponse }: ExportDeps): void {
  for (const path of PATHS)
    app.get(path, async (request, reply) => {
      reply.header("content-security-policy", FRAMED_BY_CONSOLE);
      const { authorization } = await authenticate(request);
      const headers: Record<string, string> = { authorization };
      const acceptEncoding = request.headers["accept-encoding"];
      if (acceptEncoding !== undefined) headers["accept-encoding"] = String(acceptEncoding);
      const signal = responseCloseSignal(reply);
      const methodLabel = `GET ${path}`;
      const response = await callEdge({ path: path + queryOf(request.url), headers, signal }).catch((cause) => {
        signal.throwIfAborted();
        onResponse(methodLabel, 503);
        throw new HttpError(503, "unavailable", { "retry-after": "1" }, { cause });
      });
      onResponse(methodLabel, response.status);
      for (const name of RESPONSE_HEADERS) {
        const value = response.headers[name];
        if (value !== undefined) reply.header(name, value);
      }
      return reply.code(response.status).send(response.body);
    });
}

/** Returns the query of a request's URL with its `?`. The part before it may name another host. */
function queryOf(url: string): string {
  const start = url.indexOf("?");
  return start === -1 ? "" : url.slice(start);
}

import { isUuid, type MemberCallLimiter } from "@parley/service-kit";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { HttpError, responseCloseSignal } from "../http/index.ts";
import { type Authenticate, createCallHook } from "../sign-in/index.ts";
import { type CallEdge, CONVERSATIONS_PATH, type EdgeRequest } from "./owner-api.client.ts";

export type OwnerApiDeps = {
  authenticate: Authenticate;
  limiter: MemberCallLimiter;
  callEdge: CallEdge;
  onResponse: OnResponse;
};

/** Called for each response of the edge, or with 503 if the edge did not answer. `method` is the HTTP method and the route's path. */
type OnResponse = (method: string, status: number) => void;
type RouteOptions = { method: EdgeRequest["method"]; toPath: (sessionId: string) => string; timeoutMs?: number };

const REQUEST_HEADERS = ["accept-encoding", "content-type"];
const RESPONSE_HEADERS = [
  ...["content-type", "content-disposition", "content-encoding", "content-length", "cache-control", "vary"],
  ...["retry-after", "ratelimit", "ratelimit-policy"],
];
/** The page loads exports in a frame, so that it can read and show an error. */
const FRAMED_BY_CONSOLE = "default-src 'none'; frame-ancestors 'self'";
/** Equal to the edge's limit. */
const MAX_ERASE_BODY_BYTES = 16 * 1024;
const CALL_TIMEOUT_MS = 10_000;

/** Forwards requests to the edge's owner API with the member's access token, which scripts of the page cannot read. */
export function ownerApiRoutes(app: FastifyInstance, deps: OwnerApiDeps, timeoutMs = CALL_TIMEOUT_MS): void {
  const { authenticate, limiter } = deps;
  const forward = createForwarder(deps);
  // Bypasses the limiter, because a slow reader can keep an export open for long. The edge limits exports.
  const onExport = async (request: FastifyRequest, reply: FastifyReply) => {
    reply.header("content-security-policy", FRAMED_BY_CONSOLE);
    request.forwardedAuthorization = (await authenticate(request)).authorization;
  };
  for (const name of ["export.csv", "export.ndjson"])
    app.get(CONVERSATIONS_PATH + name, { onRequest: onExport }, forward({ method: "GET", toPath: () => name }));
  app.get(
    `${CONVERSATIONS_PATH}:sessionId/export.json`,
    { onRequest: onExport },
    forward({ method: "GET", toPath: (id) => `${id}/export.json` }),
  );

  const onRequest = createCallHook(authenticate, limiter);
  const config = { acceptsBearerToken: true };
  app.get(CONVERSATIONS_PATH, { onRequest }, forward({ method: "GET", toPath: () => "", timeoutMs }));
  app.delete(
    `${CONVERSATIONS_PATH}:sessionId/`,
    { config, onRequest },
    forward({ method: "DELETE", toPath: (id) => `${id}/`, timeoutMs }),
  );
  app.post(
    `${CONVERSATIONS_PATH}erase/`,
    { config, onRequest, bodyLimit: MAX_ERASE_BODY_BYTES },
    forward({ method: "POST", toPath: () => "erase/", timeoutMs }),
  );
}

/**
 * Returns a function that creates a route's handler. `toPath` receives the session id, or an empty string if the route has none, and returns
 * the path below CONVERSATIONS_PATH.
 */
function createForwarder({ callEdge, onResponse }: Pick<OwnerApiDeps, "callEdge" | "onResponse">) {
  return ({ method, toPath, timeoutMs }: RouteOptions) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      const { sessionId } = request.params as { sessionId?: string };
      // An id such as ".." would lead to another path of the edge.
      if (sessionId !== undefined && !isUuid(sessionId)) throw new HttpError(404, "session_not_found");
      // Takes only the query from request.url, because the part before it may name another host.
      const queryStart = request.url.indexOf("?");
      const query = queryStart === -1 ? "" : request.url.slice(queryStart);
      const path = CONVERSATIONS_PATH + toPath(sessionId ?? "") + query;
      const headers: Record<string, string> = { authorization: request.forwardedAuthorization };
      for (const name of REQUEST_HEADERS) {
        const value = request.headers[name];
        if (value !== undefined) headers[name] = String(value);
      }
      const body = method === "POST" ? { body: (request.body as Buffer | undefined) ?? Buffer.alloc(0) } : {};
      const clientSignal = responseCloseSignal(reply);
      const signal =
        timeoutMs === undefined ? clientSignal : AbortSignal.any([clientSignal, AbortSignal.timeout(timeoutMs)]);
      const methodLabel = `${method} ${request.routeOptions.url}`;
      const response = await callEdge({ method, path, headers, ...body, signal }).catch((cause) => {
        clientSignal.throwIfAborted();
        onResponse(methodLabel, 503);
        throw new HttpError(503, "unavailable", { "retry-after": "1" }, { cause });
      });
      onResponse(methodLabel, response.status);
      for (const name of RESPONSE_HEADERS) {
        const value = response.headers[name];
        if (value !== undefined) reply.header(name, value);
      }
      return reply.code(response.status).send(response.body);
    };
}

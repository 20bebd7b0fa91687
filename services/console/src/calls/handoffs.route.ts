import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { HttpError, responseCloseSignal } from "../http/index.ts";
import { type Authenticate, readAgent } from "../sign-in/index.ts";
import type { CallEdge, EdgeRequest } from "./edge.client.ts";

export type HandoffDeps = {
  authenticate: Authenticate;
  callEdge: CallEdge;
  /** Called for each response of the edge, or with 503 if the edge did not answer. `method` is the HTTP method and the route's path. */
  onResponse: (method: string, status: number) => void;
};

/** More than the edge's limit, which the edge enforces. */
const MAX_BODY_BYTES = 64 * 1024;
const CALL_TIMEOUT_MS = 10_000;
/** Three heartbeats of the edge. The browser, which cannot see heartbeats, would show an outdated list until the stream ends. */
const SILENCE_TIMEOUT_MS = 45_000;
const RESPONSE_HEADERS = ["content-type", "cache-control", "retry-after", "x-accel-buffering"];

/**
 * Adds the routes for members who answer visitors, which forward to the edge's owner API. The member's access token, and not the page, names the
 * person who answers.
 */
export function handoffRoutes(app: FastifyInstance, { authenticate, callEdge, onResponse }: HandoffDeps): void {
  const stopping = new AbortController();
  // A stream would otherwise stay open until the end of the shutdown. The page connects again.
  app.addHook("preClose", async () => stopping.abort(new HttpError(503, "unavailable")));

  async function forward(
    request: FastifyRequest,
    reply: FastifyReply,
    edgeRequest: EdgeRequest,
  ): Promise<FastifyReply> {
    const method = `${request.method} ${request.routeOptions.url}`;
    const response = await callEdge(edgeRequest).catch((cause) => {
      // Not the request: its stream is destroyed once the body has been read.
      if (reply.raw.destroyed) throw new HttpError(499, "client_gone", {}, { cause });
      onResponse(method, 503);
      throw new HttpError(503, "unavailable", { "retry-after": "1" }, { cause });
    });
    onResponse(method, response.status);
    for (const name of RESPONSE_HEADERS) {
      const value = response.headers[name];
      if (value !== undefined) reply.header(name, value);
    }
    return reply.code(response.status).send(response.body);
  }

  app.get("/api/handoffs/live/", { config: { acceptsBearerToken: true } }, async (request, reply) => {
    const { authorization } = await authenticate(request);
    const signal = AbortSignal.any([responseCloseSignal(reply), stopping.signal]);
    const timeouts = { headersTimeout: CALL_TIMEOUT_MS, bodyTimeout: SILENCE_TIMEOUT_MS };
    const query = new URLSearchParams({ agent_name: readAgent(authorization).name });
    const path = `/api/handoffs/live/?${query}`;
    return forward(request, reply, { path, headers: { authorization }, signal, ...timeouts });
  });
  app.get<{ Params: { id: string } }>(
    "/api/conversations/:id/notes/",
    { config: { acceptsBearerToken: true } },
    async (request, reply) => {
      const { authorization } = await authenticate(request);
      const signal = AbortSignal.any([responseCloseSignal(reply), AbortSignal.timeout(CALL_TIMEOUT_MS)]);
      const path = `/api/conversations/${encodeURIComponent(request.params.id)}/notes/`;
      return forward(request, reply, { path, headers: { authorization }, signal });
    },
  );
  for (const action of ["handoff", "messages", "notes"])
    app.post<{ Params: { id: string } }>(
      `/api/conversations/:id/${action}/`,
      {
        bodyLimit: MAX_BODY_BYTES,
        config: { acceptsBearerToken: true },
        onRequest: async (request) => {
          request.forwardedAuthorization = (await authenticate(request)).authorization;
        },
      },
      async (request, reply) => {
        const authorization = request.forwardedAuthorization;
        const { colleague, ...given } = readObject(request.body) as { colleague?: unknown };
        // Only assign may name somebody else.
        const isForColleague = colleague !== undefined && "action" in given && given.action === "assign";
        const body = JSON.stringify({ ...given, agent: isForColleague ? colleague : readAgent(authorization) });
        const signal = AbortSignal.any([responseCloseSignal(reply), AbortSignal.timeout(CALL_TIMEOUT_MS)]);
        return forward(request, reply, {
          path: `/api/conversations/${encodeURIComponent(request.params.id)}/${action}/`,
          method: "POST",
          headers: { authorization, "content-type": "application/json" },
          body,
          signal,
        });
      },
    );
}

/** Parses a JSON object. Its fields are not checked, because the edge checks them. */
function readObject(body: unknown): object {
  try {
    const value: unknown = JSON.parse(String(body));
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Refused below.
  }
  throw new HttpError(400, "invalid_json");
}

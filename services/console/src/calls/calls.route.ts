import { CODE_METADATA_KEY } from "@parley/rpc/code";
import type { MemberCallLimiter } from "@parley/service-kit";
import type { FastifyInstance } from "fastify";
import { HttpError, responseCloseSignal } from "../http/index.ts";
import { type Authenticate, createCallHook } from "../sign-in/index.ts";
import type { AdminCalls, AdminResponse } from "./admin-calls.client.ts";
import { ALLOWED_METHODS, type AllowedMethod } from "./allowed-methods.ts";
import type { ListConversations } from "./owner-api.client.ts";

export type CallDeps = {
  authenticate: Authenticate;
  limiter: MemberCallLimiter;
  adminCalls: AdminCalls;
  listConversations: ListConversations;
};

/** Large enough for AddSource with the largest document, 16 MiB, as application/proto. JSON would need 22 MiB, because of base64. */
const MAX_CALL_BYTES = 17 * 1024 * 1024;
const MAX_BATCH_BYTES = 256 * 1024;
const MAX_BATCH_CALLS = 20;
const CONTENT_TYPES = new Set(["application/json", "application/proto"]);
const STREAM_CONTENT_TYPES = new Set(["application/connect+json", "application/connect+proto"]);

type MethodCall = { method: string; body: Buffer };
/** `conversations` is the query string of GET /api/conversations/. */
type ListCall = { conversations: string };
type BatchCall = MethodCall | ListCall;

declare module "fastify" {
  interface FastifyRequest {
    /** Set by the route's onRequest hook. */
    forwardedAuthorization: string;
  }
}

/**
 * `POST /api/rpc/<method>` forwards one Connect call of an admin method, unary or server-streaming. `POST /api/batch` forwards several unary
 * calls with JSON and returns their responses in order, so that a screen needs only one request. A batch can also contain requests for lists
 * of conversations: the console forwards these requests to the edge.
 */
export function callRoutes(app: FastifyInstance, deps: CallDeps): void {
  const { authenticate, limiter, adminCalls, listConversations } = deps;
  app.decorateRequest("forwardedAuthorization", "");
  const onRequest = createCallHook(authenticate, limiter);

  app.post<{ Params: { "*": string } }>(
    "/api/rpc/*",
    { bodyLimit: MAX_CALL_BYTES, config: { acceptsBearerToken: true }, onRequest },
    async (request, reply) => {
      const contentType = request.headers["content-type"]?.split(";")[0] ?? "";
      const method = request.params["*"];
      const { service, isStream } = findMethod(method);
      if (!(isStream ? STREAM_CONTENT_TYPES : CONTENT_TYPES).has(contentType))
        throw new HttpError(415, "unsupported_media_type");
      const response = await adminCalls[isStream ? "stream" : "call"]({
        service,
        method,
        contentType,
        body: request.body as Buffer,
        authorization: request.forwardedAuthorization,
        signal: responseCloseSignal(reply),
      });
      if (response.code !== undefined) reply.header(CODE_METADATA_KEY, response.code);
      return reply
        .code(response.status)
        .header("content-type", response.contentType)
        .header("cache-control", "no-store")
        .send(response.body);
    },
  );

  app.post(
    "/api/batch",
    { bodyLimit: MAX_BATCH_BYTES, config: { acceptsBearerToken: true }, onRequest },
    async (request, reply) => {
      const { forwardedAuthorization: authorization } = request;
      const signal = responseCloseSignal(reply);
      const calls = parseBatch(request.body as Buffer).map((call) => {
        if ("conversations" in call) return () => listConversations(call.conversations, authorization, signal);
        const { method, body } = call;
        const { service, isStream } = findMethod(method);
        if (isStream) throw new HttpError(404, "method_not_found");
        return () => adminCalls.call({ service, method, body, contentType: "application/json", authorization, signal });
      });
      const responses = await Promise.all(calls.map((send) => send()));
      return reply.header("cache-control", "no-store").send({ responses: responses.map(toBatchResponse) });
    },
  );
}

function findMethod(method: string): AllowedMethod {
  const allowed = ALLOWED_METHODS.get(method);
  if (allowed === undefined) throw new HttpError(404, "method_not_found");
  return allowed;
}

function parseBatch(body: Buffer): BatchCall[] {
  try {
    const { calls } = JSON.parse(body.toString()) as { calls: Partial<Record<string, unknown>>[] };
    if (calls.length === 0 || calls.length > MAX_BATCH_CALLS) throw new RangeError("too few or too many calls");
    return calls.map(({ method, message, conversations }) => {
      if (typeof conversations === "string") return { conversations };
      if (typeof method !== "string" || typeof message !== "object" || message === null)
        throw new TypeError("a call needs a method and a message");
      // JSON.stringify throws if the message is nested too deeply.
      return { method, body: Buffer.from(JSON.stringify(message)) };
    });
  } catch (cause) {
    throw new HttpError(400, "invalid_request", {}, { cause });
  }
}

function toBatchResponse({ status, code, body }: AdminResponse) {
  let json: unknown;
  try {
    json = JSON.parse(body.toString());
  } catch {
    // A proxy in front of the service sent this response.
    return { status: 502, body: { code: "unavailable", message: "the service sent no JSON" } };
  }
  return { status, ...(code !== undefined && { code }), body: json };
}

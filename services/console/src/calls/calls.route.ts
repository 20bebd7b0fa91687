import { CODE_METADATA_KEY } from "@parley/rpc/code";
import type { MemberCallLimiter } from "@parley/service-kit";
import type { FastifyInstance } from "fastify";
import { HttpError, responseCloseSignal } from "../http/index.ts";
import { type Authenticate, createCallHook } from "../sign-in/index.ts";
import type { AdminCalls } from "./admin-calls.client.ts";
import { ALLOWED_METHODS, type AllowedMethod } from "./allowed-methods.ts";

export type CallDeps = {
  authenticate: Authenticate;
  limiter: MemberCallLimiter;
  adminCalls: AdminCalls;
};

/** Large enough for AddSource with the largest document, 16 MiB, as application/proto. JSON would need 22 MiB, because of base64. */
const MAX_CALL_BYTES = 17 * 1024 * 1024;
const CONTENT_TYPES = new Set(["application/json", "application/proto"]);
const STREAM_CONTENT_TYPES = new Set(["application/connect+json", "application/connect+proto"]);

declare module "fastify" {
  interface FastifyRequest {
    /** Set by the route's onRequest hook. */
    forwardedAuthorization: string;
  }
}

/** `POST /api/rpc/<method>` forwards one Connect call of an admin method, unary or server-streaming. */
export function callRoutes(app: FastifyInstance, deps: CallDeps): void {
  const { authenticate, limiter, adminCalls } = deps;
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
}

function findMethod(method: string): AllowedMethod {
  const allowed = ALLOWED_METHODS.get(method);
  if (allowed === undefined) throw new HttpError(404, "method_not_found");
  return allowed;
}

import { randomUUID } from "node:crypto";
import { RpcError, status } from "@parley/rpc";
import { isUuid } from "@parley/service-kit";
import type { FastifyInstance } from "fastify";
import { authenticateOrCount, requireOwner, userBucket } from "../auth/index.ts";
import { MAX_VISITOR_ID_CHARACTERS } from "../chat/index.ts";
import { endpoint, HttpError, invalidMessage, parseJsonObject, unavailable } from "../http/index.ts";
import { enforce, POLICIES } from "../rate-limits/index.ts";
import type { SessionDeps } from "./list-sessions.route.ts";
import { parseQuery } from "./session-query.ts";

const DELETE_TIMEOUT_MS = 3_000;
const ERASE_TIMEOUT_MS = 10_000;
/** Has room for the longest id with every character escaped as `\u…`. */
const MAX_ERASE_BODY_BYTES = 16 * 1024;

/** DELETE /api/conversations/{session_id}/: hides a session. */
export function deleteSessionRoute(app: FastifyInstance, deps: SessionDeps): void {
  endpoint(app, {
    method: "DELETE",
    url: "/api/conversations/:sessionId/",
    config: { errorKey: "detail" },
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      const caller = await authenticateOrCount(deps, request, reply, POLICIES.conversations);
      parseQuery(request.query, []);
      requireOwner(caller);
      await enforce(deps.limiter, POLICIES.conversations, userBucket(caller), reply);
      const { workspaceId, userId: member } = caller;
      const sessionId = (request.params as { sessionId: string }).sessionId.toLowerCase();
      if (!isUuid(sessionId)) throw sessionNotFound();
      try {
        await deps.conversation.softDeleteSession({ workspaceId, sessionId, member }, { timeoutMs: DELETE_TIMEOUT_MS });
      } catch (error) {
        throw error instanceof RpcError && error.status === status.NOT_FOUND
          ? sessionNotFound(error)
          : unavailable(error);
      }
      return reply.code(204).header("cache-control", "no-store").send();
    },
  });
}

export function sessionNotFound(cause?: unknown): HttpError {
  return new HttpError(404, "session_not_found", {}, { cause });
}

/** POST /api/conversations/erase/: permanently erases a visitor's sessions. Responds once the request is stored. */
export function eraseVisitorRoute(app: FastifyInstance, deps: SessionDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/conversations/erase/",
    config: { errorKey: "detail" },
    bodyLimit: MAX_ERASE_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      const caller = await authenticateOrCount(deps, request, reply, POLICIES.conversations);
      parseQuery(request.query, []);
      const visitorId = parseVisitorId(request.body as Buffer | undefined);
      requireOwner(caller);
      await enforce(deps.limiter, POLICIES.conversations, userBucket(caller), reply);
      const { workspaceId, userId: member } = caller;
      // The conversation service stores one erasure per request id, even if the call is repeated.
      const requestId = randomUUID();
      const { sessions } = await deps.conversation
        .eraseVisitor({ workspaceId, requestId, visitorId, member }, { timeoutMs: ERASE_TIMEOUT_MS })
        .catch((error: unknown) => {
          throw unavailable(error);
        });
      reply.code(202).header("cache-control", "no-store");
      return { conversations: Number(sessions), request_id: requestId };
    },
  });
}

/** Parses the body of an erasure. Refuses unknown fields, because a caller may expect that such a field limits the erasure. */
function parseVisitorId(bytes: Uint8Array | undefined): string {
  const { visitor_id: visitorId, ...others } = parseJsonObject(bytes);
  if (typeof visitorId !== "string" || visitorId === "" || Object.keys(others).length > 0) throw invalidMessage();
  if ([...visitorId].length > MAX_VISITOR_ID_CHARACTERS) throw invalidMessage();
  return visitorId;
}

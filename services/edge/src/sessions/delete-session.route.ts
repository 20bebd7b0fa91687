import { isParleyError, status } from "@parley/rpc";
import { isUuid } from "@parley/service-kit";
import type { FastifyInstance } from "fastify";
import { authenticateOrCountFailure, requireOwner, userBucket } from "../auth/index.ts";
import { endpoint, HttpError, unavailableError } from "../http/index.ts";
import { enforceRateLimit, POLICIES } from "../rate-limits/index.ts";
import type { SessionDeps } from "./list-sessions.route.ts";
import { parseQuery } from "./session-query.ts";

const TIMEOUT_MS = 3_000;

/** DELETE /api/conversations/{session_id}/: hides a session. */
export function deleteSessionRoute(app: FastifyInstance, deps: SessionDeps): void {
  endpoint(app, {
    method: "DELETE",
    url: "/api/conversations/:sessionId/",
    config: { errorKey: "detail" },
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      const caller = await authenticateOrCountFailure(deps, request, reply, POLICIES.conversations);
      parseQuery(request.query, []);
      requireOwner(caller);
      await enforceRateLimit(deps.limiter, POLICIES.conversations, userBucket(caller), reply);
      const { workspaceId, userId: member } = caller;
      const sessionId = (request.params as { sessionId: string }).sessionId.toLowerCase();
      if (!isUuid(sessionId)) throw sessionNotFound();
      try {
        await deps.conversation.softDeleteSession({ workspaceId, sessionId, member }, { timeoutMs: TIMEOUT_MS });
      } catch (error) {
        throw isParleyError(error, status.NOT_FOUND) ? sessionNotFound(error) : unavailableError(error);
      }
      return reply.code(204).header("cache-control", "no-store").send();
    },
  });
}

export function sessionNotFound(cause?: unknown): HttpError {
  return new HttpError(404, "session_not_found", {}, { cause });
}

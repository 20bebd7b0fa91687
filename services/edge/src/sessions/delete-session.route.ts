import { isParleyError, status } from "@parley/rpc";
import { SessionAdminService } from "@parley/rpc/conversation";
import { isUuid } from "@parley/service-kit";
import type { FastifyInstance } from "fastify";
import Type from "typebox";
import { operatorEndpoint } from "../auth/index.ts";
import { HttpError, INVALID_PARAMETER, NO_STORE, refused, unavailableError } from "../http/index.ts";
import { POLICIES } from "../rate-limits/index.ts";
import { COUNTED, type SessionDeps } from "./list-sessions.route.ts";
import { NoQuery } from "./session-query.ts";

const TIMEOUT_MS = 3_000;

/** Not a UUID, because an id that is none gets the same 404 as an unknown one. */
export const SessionParams = Type.Object({ session_id: Type.String({ description: "The session." }) });

export const SESSION_NOT_FOUND = refused(
  "The session does not exist, was deleted, belongs to another workspace, or is not a UUID. The response is identical in all cases.",
  "session_not_found",
);

/** DELETE /api/conversations/{session_id}/: hides a session. */
export function deleteSessionRoute(app: FastifyInstance, deps: SessionDeps): void {
  operatorEndpoint(app, deps, {
    method: "DELETE",
    url: "/api/conversations/:session_id/",
    policy: POLICIES.conversations,
    counted: COUNTED,
    calls: SessionAdminService.method.deleteSession,
    schema: { params: SessionParams, querystring: NoQuery },
    operation: {
      operationId: "deleteConversation",
      summary: "Delete a conversation",
      description:
        "Hides one session of the caller's workspace; its content stays in the database. Needs the role `owner`.",
      responses: {
        204: { description: "The conversation is deleted.", headers: NO_STORE },
        400: INVALID_PARAMETER,
        404: SESSION_NOT_FOUND,
      },
    },
    handler: async ({ params }, reply, { workspaceId, userId: member }) => {
      const sessionId = params.session_id.toLowerCase();
      if (!isUuid(sessionId)) throw sessionNotFound();
      try {
        await deps.sessions.deleteSession({ workspaceId, sessionId, member }, { timeoutMs: TIMEOUT_MS });
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

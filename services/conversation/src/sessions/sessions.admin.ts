import type { ServiceImplementation } from "@parley/rpc";
import type { SessionAdminService } from "@parley/rpc/conversation";
import { type AuditLog, type Database, isUuid, isWorkspaceId, notFound } from "@parley/service-kit";
import type { NotifySettler } from "../turns/index.ts";
import { handleDeleteSession } from "./delete-session.rpc.ts";
import { eraseSession } from "./erase-session.store.ts";
import { handleGetTranscript } from "./get-transcript.rpc.ts";
import { reviewMessage } from "./messages.store.ts";
import type { OwnerReadPool } from "./owner-read-pool.ts";
import { sessionNotFound } from "./session-not-found.ts";

/** The calls about whole sessions. Connect serves them on the ops port, and gRPC for the edge. */
export type SessionHandlers = ServiceImplementation<typeof SessionAdminService, { signal: AbortSignal }>;

export type SessionAdminDeps = {
  database: Database;
  ownerReadPool: OwnerReadPool;
  notifySettler: NotifySettler;
  auditLog: Pick<AuditLog, "recordIn">;
};

/** Creates the handlers of the calls about one session. */
export function createSessionAdmin(
  deps: SessionAdminDeps,
): Omit<SessionHandlers, "listSessions" | "exportSessions" | "eraseVisitor"> {
  const { database, ownerReadPool, notifySettler } = deps;
  return {
    getTranscript: (request, { signal }) => handleGetTranscript(ownerReadPool, request, signal),
    deleteSession: (request) => handleDeleteSession(deps, request),
    async eraseSession({ workspaceId, sessionId }) {
      const couldExist = isWorkspaceId(workspaceId) && isUuid(sessionId);
      const turnsClosedByErasure = couldExist ? await eraseSession(database, workspaceId, sessionId) : undefined;
      if (turnsClosedByErasure === undefined) throw sessionNotFound();
      notifySettler(turnsClosedByErasure);
      return {};
    },
    async reviewMessage({ workspaceId, sessionId, messageId, review }) {
      const couldExist = isWorkspaceId(workspaceId) && isUuid(sessionId);
      const target = { workspaceId, sessionId, messageId: String(messageId), review };
      if (!couldExist || !(await reviewMessage(database, target)))
        throw notFound("message_not_found", "no such message");
      return {};
    },
  };
}

import { create } from "@bufbuild/protobuf";
import { type DeleteSessionRequest, DeleteSessionResponseSchema, SessionAdminService } from "@parley/rpc/conversation";
import { type AuditLog, type Database, describeCall, isUuid, isWorkspaceId, transaction } from "@parley/service-kit";
import { sessionNotFound } from "./session-not-found.ts";
import { deleteSession } from "./sessions.store.ts";

const METHOD = SessionAdminService.method.deleteSession;

/**
 * Hides a session, and adds an entry to the audit log in the same transaction. Throws session_not_found for a malformed id, and for a missing,
 * deleted or erased session.
 */
export async function handleDeleteSession(
  { database, auditLog }: { database: Database; auditLog: Pick<AuditLog, "recordIn"> },
  request: DeleteSessionRequest,
): Promise<Record<string, never>> {
  const { workspaceId, sessionId, member } = request;
  const couldExist = isWorkspaceId(workspaceId) && isUuid(sessionId);
  const entry = describeCall(METHOD, member || undefined, request, create(DeleteSessionResponseSchema));
  await transaction(database, async (connection) => {
    if (!couldExist || !(await deleteSession(connection, workspaceId, sessionId))) throw sessionNotFound();
    await auditLog.recordIn(connection, entry);
  });
  return {};
}

import { create } from "@bufbuild/protobuf";
import {
  ConversationService,
  type SoftDeleteSessionRequest,
  SoftDeleteSessionResponseSchema,
} from "@parley/rpc/conversation";
import {
  type Database,
  describeCall,
  insertEntry,
  isUuid,
  isWorkspaceId,
  type Queryable,
  transaction,
} from "@parley/service-kit";
import { sessionNotFound } from "./session-not-found.ts";
import { deleteSession } from "./sessions.store.ts";

const METHOD = ConversationService.method.softDeleteSession;

/** Handles the edge's SoftDeleteSession. Adds an entry to the audit log in the same transaction. */
export async function handleSoftDeleteSession(
  database: Database,
  request: SoftDeleteSessionRequest,
): Promise<Record<string, never>> {
  const response = create(SoftDeleteSessionResponseSchema);
  await transaction(database, async (connection) => {
    await softDeleteSession(connection, request);
    await insertEntry(connection, "conversation", describeCall(METHOD, request.member, request, response));
  });
  return {};
}

/** Also used by the admin service. Throws session_not_found for a malformed id, and for a missing, deleted or erased session. */
export async function softDeleteSession(
  database: Queryable,
  { workspaceId, sessionId }: Pick<SoftDeleteSessionRequest, "workspaceId" | "sessionId">,
): Promise<Record<string, never>> {
  const couldExist = isWorkspaceId(workspaceId) && isUuid(sessionId);
  if (!couldExist || !(await deleteSession(database, workspaceId, sessionId))) throw sessionNotFound();
  return {};
}

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type AddNoteRequest,
  AddNoteResponseSchema,
  HandoffService,
  type ListNotesRequest,
  type ListNotesResponseSchema,
} from "@parley/rpc/conversation";
import {
  type AuditLog,
  type Database,
  describeCall,
  invalidArgument,
  isUuid,
  isWorkspaceId,
  ServiceError,
  transaction,
} from "@parley/service-kit";
import { sessionNotFound } from "../sessions/index.ts";
import { hasNote, insertNote, listNotes, lockSession } from "./notes.store.ts";

const METHOD = HandoffService.method.addNote;
/** Bounds what one session stores, and what a list returns. */
const MAX_NOTES = 200;

export async function handleAddNote(
  { database, auditLog }: { database: Database; auditLog: Pick<AuditLog, "recordIn"> },
  request: AddNoteRequest,
): Promise<Record<string, never>> {
  const { workspaceId, sessionId, requestId, text, author, member } = request;
  if (!isWorkspaceId(workspaceId) || !isUuid(sessionId)) throw sessionNotFound();
  if (author === undefined) throw invalidArgument("author must be set");
  const note = { workspaceId, sessionId, requestId, text, authorId: author.id, authorName: author.name };
  const entry = {
    ...describeCall(METHOD, member || undefined, request, create(AddNoteResponseSchema)),
    changedFields: [],
  };
  await transaction(database, async (connection) => {
    if (!(await lockSession(connection, note))) throw sessionNotFound();
    if (await insertNote(connection, note, MAX_NOTES)) await auditLog.recordIn(connection, entry);
    else if (!(await hasNote(connection, note)))
      throw new ServiceError("failed_precondition", "too_many_notes", `a session has at most ${MAX_NOTES} notes`);
  });
  return {};
}

export async function handleListNotes(
  database: Database,
  request: ListNotesRequest,
): Promise<MessageInitShape<typeof ListNotesResponseSchema>> {
  const couldExist = isWorkspaceId(request.workspaceId) && isUuid(request.sessionId);
  const notes = couldExist ? await listNotes(database, request) : undefined;
  if (notes === undefined) throw sessionNotFound();
  return {
    notes: notes.map(({ id, afterMessageId, authorId, authorName, ...note }) => ({
      ...note,
      id: BigInt(id),
      afterMessageId: BigInt(afterMessageId),
      author: { id: authorId, name: authorName },
    })),
  };
}

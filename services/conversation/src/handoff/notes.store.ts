import type { Database, Queryable } from "@parley/service-kit";
import { formatTimeSql, IS_LISTED } from "../sessions/index.ts";

type SessionKey = { workspaceId: string; sessionId: string };

export type NewNote = SessionKey & { requestId: string; text: string; authorId: string; authorName: string };

export type StoredNote = {
  id: number;
  text: string;
  createdAt: string;
  authorId: string;
  authorName: string;
  afterMessageId: number;
};

/** Locks a session's row until the end of the transaction, so that an erasure comes before or after. Returns false if there is no such session. */
export async function lockSession(transaction: Queryable, { workspaceId, sessionId }: SessionKey): Promise<boolean> {
  const { rowCount } = await transaction.query(
    `SELECT FROM conversation.sessions s WHERE s.workspace_id = $1 AND s.session_id = $2 AND ${IS_LISTED} FOR NO KEY UPDATE`,
    [workspaceId, sessionId],
  );
  return rowCount === 1;
}

/** Adds a note to a locked session. Adds nothing if a request is repeated or if the session has `limit` notes. */
export async function insertNote(
  transaction: Queryable,
  { workspaceId, sessionId, requestId, text, authorId, authorName }: NewNote,
  limit: number,
): Promise<boolean> {
  const { rowCount } = await transaction.query(
    `INSERT INTO conversation.session_notes (workspace_id, session_id, request_id, after_message_id, author_id, author_name, content)
     SELECT $1, $2, $3, s.last_message_id, $4, $5, $6
     FROM conversation.sessions s
     WHERE s.workspace_id = $1 AND s.session_id = $2
       AND (SELECT count(*) FROM conversation.session_notes n WHERE n.workspace_id = $1 AND n.session_id = $2) < $7
     ON CONFLICT (workspace_id, session_id, request_id) DO NOTHING`,
    [workspaceId, sessionId, requestId, authorId, authorName, text, limit],
  );
  return rowCount === 1;
}

export async function hasNote(
  transaction: Queryable,
  { workspaceId, sessionId, requestId }: SessionKey & { requestId: string },
): Promise<boolean> {
  const { rowCount } = await transaction.query(
    "SELECT FROM conversation.session_notes WHERE workspace_id = $1 AND session_id = $2 AND request_id = $3",
    [workspaceId, sessionId, requestId],
  );
  return rowCount === 1;
}

/** Lists a session's notes, oldest first. Returns undefined if the session is unknown, deleted or erased. */
export async function listNotes(
  database: Database,
  { workspaceId, sessionId }: SessionKey,
): Promise<StoredNote[] | undefined> {
  const { rows } = await database.query<{ notes: StoredNote[] }>(
    `SELECT coalesce((
       SELECT json_agg(note ORDER BY id) FROM (
         SELECT n.note_id AS id, n.content AS text, ${formatTimeSql("n.created_at")} AS "createdAt", n.author_id AS "authorId",
                n.author_name AS "authorName", n.after_message_id AS "afterMessageId"
         FROM conversation.session_notes n WHERE n.workspace_id = $1 AND n.session_id = $2
       ) note
     ), '[]') AS notes
     FROM conversation.sessions s WHERE s.workspace_id = $1 AND s.session_id = $2 AND ${IS_LISTED}`,
    [workspaceId, sessionId],
  );
  return rows[0]?.notes;
}

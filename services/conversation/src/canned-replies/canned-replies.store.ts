import { type Database, workspaceTransaction } from "@parley/service-kit";

export type StoredReply = { id: number; name: string; text: string };

const COLUMNS = "reply_id AS id, name, content AS text";

/** Stores a canned reply. Returns undefined if the workspace has `limit` of them. */
export async function insertReply(
  database: Database,
  workspaceId: string,
  { name, text }: Omit<StoredReply, "id">,
  limit: number,
): Promise<StoredReply | undefined> {
  return workspaceTransaction(database, { table: "conversation.canned_replies", workspaceId }, async (connection) => {
    const { rows } = await connection.query<StoredReply>(
      `INSERT INTO conversation.canned_replies (workspace_id, name, content)
       SELECT $1, $2, $3
       WHERE (SELECT count(*) FROM conversation.canned_replies WHERE workspace_id = $1) < $4
       RETURNING ${COLUMNS}`,
      [workspaceId, name, text, limit],
    );
    return rows[0];
  });
}

/** Replaces a canned reply. Returns undefined if the workspace has none with this id. */
export async function updateReply(
  database: Database,
  workspaceId: string,
  { id, name, text }: { id: bigint; name: string; text: string },
): Promise<StoredReply | undefined> {
  const { rows } = await database.query<StoredReply>(
    `UPDATE conversation.canned_replies SET name = $3, content = $4 WHERE workspace_id = $1 AND reply_id = $2 RETURNING ${COLUMNS}`,
    [workspaceId, String(id), name, text],
  );
  return rows[0];
}

/** Lists a workspace's canned replies by name. */
export async function listReplies(database: Database, workspaceId: string): Promise<StoredReply[]> {
  const { rows } = await database.query<StoredReply>(
    `SELECT ${COLUMNS} FROM conversation.canned_replies WHERE workspace_id = $1 ORDER BY lower(name), reply_id`,
    [workspaceId],
  );
  return rows;
}

/** Deletes a canned reply, if the workspace has one with this id. */
export async function deleteReply(database: Database, workspaceId: string, id: bigint): Promise<void> {
  await database.query("DELETE FROM conversation.canned_replies WHERE workspace_id = $1 AND reply_id = $2", [
    workspaceId,
    String(id),
  ]);
}

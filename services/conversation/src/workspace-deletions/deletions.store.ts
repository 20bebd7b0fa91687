import { type Database, NIL_UUID } from "@parley/service-kit";

/** A workspace's data is erased this long after the deletion. Until then the workspace can be restored. */
const GRACE_DAYS = 30;

export type WorkspaceDeletion = { workspaceId: string; deletedAt: Date; eraseAt: Date };

const COLUMNS = `workspace_id AS "workspaceId", deleted_at AS "deletedAt", deleted_at + interval '${GRACE_DAYS} days' AS "eraseAt"`;

/** Stores that a workspace is deleted. Keeps the time of the first deletion. */
export async function storeDeletion(database: Database, workspaceId: string): Promise<WorkspaceDeletion> {
  const { rows } = await database.query<WorkspaceDeletion>(
    // Unlike DO NOTHING, DO UPDATE also returns a row that exists already.
    `INSERT INTO conversation.workspace_deletions (workspace_id) VALUES ($1)
     ON CONFLICT (workspace_id) DO UPDATE SET workspace_id = excluded.workspace_id
     RETURNING ${COLUMNS}`,
    [workspaceId],
  );
  const [deletion] = rows as [WorkspaceDeletion];
  return deletion;
}

/** Removes a deletion. Returns false if the erasure has begun. */
export async function removeDeletion(database: Database, workspaceId: string): Promise<boolean> {
  await database.query("DELETE FROM conversation.workspace_deletions WHERE workspace_id = $1 AND erasing_at IS NULL", [
    workspaceId,
  ]);
  // Without the condition on `erasing_at`, the query would also find a new deletion that was stored after the DELETE.
  const { rowCount } = await database.query(
    "SELECT FROM conversation.workspace_deletions WHERE workspace_id = $1 AND erasing_at IS NOT NULL",
    [workspaceId],
  );
  return rowCount === 0;
}

export async function listDeletedIds(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>({
    name: "list_deleted_workspaces",
    text: "SELECT workspace_id AS id FROM conversation.workspace_deletions",
  });
  return rows.map((row) => row.id);
}

/** Marks the deleted workspaces whose grace period is over, so that they can no longer be restored. Returns the ids of the workspaces to erase. */
export async function beginErasures(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    `UPDATE conversation.workspace_deletions SET erasing_at = coalesce(erasing_at, now())
     WHERE erased_at IS NULL AND deleted_at < now() - interval '${GRACE_DAYS} days' RETURNING workspace_id AS id`,
  );
  return rows.map((row) => row.id);
}

/** Records that a workspace is erased, so that later runs skip it. Returns false if another run has already recorded it. */
export async function finishErasure(database: Database, workspaceId: string): Promise<boolean> {
  const { rowCount } = await database.query(
    "UPDATE conversation.workspace_deletions SET erased_at = now() WHERE workspace_id = $1 AND erased_at IS NULL",
    [workspaceId],
  );
  return rowCount === 1;
}

/** Lists the ids of a workspace's sessions, without erased ones: at most `limit`, in ascending order, after the id `after`. */
export async function listSessionIds(
  database: Database,
  workspaceId: string,
  { after = NIL_UUID, limit }: { after: string | undefined; limit: number },
): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    `SELECT session_id AS id FROM conversation.sessions
     WHERE workspace_id = $1 AND session_id > $2 AND erased_at IS NULL ORDER BY session_id LIMIT $3`,
    [workspaceId, after, limit],
  );
  return rows.map((row) => row.id);
}

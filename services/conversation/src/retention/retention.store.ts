import type { Database } from "@parley/service-kit";

/** Every workspace that has a bot, and so may have conversations. */
export async function listWorkspaceIds(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>("SELECT DISTINCT workspace_id AS id FROM conversation.bots");
  return rows.map((row) => row.id);
}

const LIST_EXPIRED = `
  SELECT session_id AS id FROM conversation.sessions
  WHERE workspace_id = $1 AND last_activity_at < now() - make_interval(days => $2) AND erased_at IS NULL
  ORDER BY last_activity_at
  LIMIT $3`;

/** The sessions of a workspace, at most `limit`, that were last active more than so many days ago, the oldest first; deleted ones too. */
export async function listExpired(
  database: Database,
  workspaceId: string,
  days: number,
  limit: number,
): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(LIST_EXPIRED, [workspaceId, days, limit]);
  return rows.map((row) => row.id);
}

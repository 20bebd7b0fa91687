import type { Database } from "@parley/service-kit";

/** Lists every workspace that has a bot. Other workspaces have no sessions. */
export async function listWorkspaceIds(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>("SELECT DISTINCT workspace_id AS id FROM conversation.bots");
  return rows.map((row) => row.id);
}

const LIST_EXPIRED = `
  SELECT session_id AS id FROM conversation.sessions
  WHERE workspace_id = $1 AND last_activity_at < now() - make_interval(days => $2) AND erased_at IS NULL
  ORDER BY last_activity_at
  LIMIT $3`;

/** Lists a workspace's sessions whose last activity is more than `days` days ago, oldest first. Includes deleted sessions. */
export async function listExpired(
  database: Database,
  workspaceId: string,
  days: number,
  limit: number,
): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(LIST_EXPIRED, [workspaceId, days, limit]);
  return rows.map((row) => row.id);
}

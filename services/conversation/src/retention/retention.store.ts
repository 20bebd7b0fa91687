import { type Database, NIL_UUID } from "@parley/service-kit";

/** Lists the ids of the workspaces that have a bot and are not deleted. Workspaces without a bot have no sessions. */
export async function listWorkspaceIds(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    `SELECT workspace_id AS id FROM conversation.bots
     EXCEPT
     SELECT workspace_id FROM conversation.workspace_deletions`,
  );
  return rows.map((row) => row.id);
}

const LIST_EXPIRED = `
  SELECT session_id AS id, last_activity_at::text AS "lastActivityAt" FROM conversation.sessions
  WHERE workspace_id = $1 AND last_activity_at < now() - make_interval(days => $2) AND erased_at IS NULL
    AND (last_activity_at, session_id) > ($4::timestamptz, $5::uuid)
  ORDER BY last_activity_at, session_id
  LIMIT $3`;

/** `lastActivityAt` is PostgreSQL's text, because a Date would lose the microseconds. */
export type ExpiredSession = { id: string; lastActivityAt: string };

const BEFORE_ALL: ExpiredSession = { id: NIL_UUID, lastActivityAt: "-infinity" };

export type ExpiredPage = { days: number; limit: number; after: ExpiredSession | undefined };

/** Lists a workspace's sessions whose last activity is more than `days` days ago, oldest first. Includes deleted sessions, but no erased ones. */
export async function listExpiredSessions(
  database: Database,
  workspaceId: string,
  { days, limit, after = BEFORE_ALL }: ExpiredPage,
): Promise<ExpiredSession[]> {
  const values = [workspaceId, days, limit, after.lastActivityAt, after.id];
  const { rows } = await database.query<ExpiredSession>(LIST_EXPIRED, values);
  return rows;
}

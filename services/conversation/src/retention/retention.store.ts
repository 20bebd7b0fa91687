import { type Database, NIL_UUID } from "@parley/service-kit";

const LIST_EXPIRED = `
  SELECT session_id AS id, last_activity_at::text AS "lastActivityAt" FROM conversation.sessions
  WHERE workspace_id = $1 AND last_activity_at < now() - make_interval(mins => $2) AND erased_at IS NULL
    AND (last_activity_at, session_id) > ($4::timestamptz, $5::uuid)
  ORDER BY last_activity_at, session_id
  LIMIT $3`;

/** `lastActivityAt` is PostgreSQL's text, because a Date would lose the microseconds. */
export type ExpiredSession = { id: string; lastActivityAt: string };

const BEFORE_ALL: ExpiredSession = { id: NIL_UUID, lastActivityAt: "-infinity" };

export type ExpiredPage = { minutes: number; limit: number; after: ExpiredSession | undefined };

/**
 * Lists a workspace's sessions whose last message was opened more than `minutes` minutes ago, oldest first. Its reply may have ended later or still
 * be running: eraseSession checks that. Includes deleted sessions, but no erased ones.
 */
export async function listExpiredSessions(
  database: Database,
  workspaceId: string,
  { minutes, limit, after = BEFORE_ALL }: ExpiredPage,
): Promise<ExpiredSession[]> {
  const values = [workspaceId, minutes, limit, after.lastActivityAt, after.id];
  const { rows } = await database.query<ExpiredSession>(LIST_EXPIRED, values);
  return rows;
}

import { type Database, transaction } from "@parley/service-kit";

// Only inactive sessions: during an upgrade, replicas of a version without migration 0015 may add turns without updating the counts. In an active
// session, each of these turns would cause another recount.
const LOCK_UNCOUNTED = `
  SELECT workspace_id, session_id, last_activity_at::text AS "lastActivityAt"
  FROM conversation.sessions
  WHERE counted_at IS DISTINCT FROM last_activity_at AND erased_at IS NULL
    AND last_activity_at < now() - make_interval(secs => $1) AND last_activity_at >= $2::timestamptz
  ORDER BY last_activity_at
  LIMIT $3
  FOR NO KEY UPDATE SKIP LOCKED`;

// Runs as a separate statement, so that its snapshot is newer than the locks and contains every turn and rating.
const RECOUNT = `
  UPDATE conversation.sessions s
  SET message_count = counts.messages, ratings_up = counts.up, ratings_down = counts.down, counted_at = s.last_activity_at
  FROM unnest($1::text[], $2::uuid[]) AS locked (workspace_id, session_id)
  CROSS JOIN LATERAL (
    SELECT count(*) AS messages, count(*) FILTER (WHERE m.rating = 'up') AS up, count(*) FILTER (WHERE m.rating = 'down') AS down
    FROM conversation.messages m
    WHERE m.workspace_id = locked.workspace_id AND m.session_id = locked.session_id
  ) counts
  WHERE s.workspace_id = locked.workspace_id AND s.session_id = locked.session_id`;

type Uncounted = { workspace_id: string; session_id: string; lastActivityAt: string };

export type RecountPage = {
  /** Only sessions without activity for this long. */
  inactiveSeconds: number;
  /** Only sessions with this last activity or a later one. A timestamp in PostgreSQL's text format. */
  since: string;
  limit: number;
};

/**
 * Counts the messages and ratings of sessions whose stored counts are out of date. Skips sessions that other transactions have locked.
 * Returns the number of sessions counted, and the latest activity among them, or `since` if there are none.
 */
export function recountSessions(
  database: Database,
  { inactiveSeconds, since, limit }: RecountPage,
): Promise<{ sessions: number; lastActivityAt: string }> {
  return transaction(database, async (connection) => {
    const { rows } = await connection.query<Uncounted>(LOCK_UNCOUNTED, [inactiveSeconds, since, limit]);
    if (rows.length > 0)
      await connection.query(RECOUNT, [rows.map((row) => row.workspace_id), rows.map((row) => row.session_id)]);
    return { sessions: rows.length, lastActivityAt: rows.at(-1)?.lastActivityAt ?? since };
  });
}

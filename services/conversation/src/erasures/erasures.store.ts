import { avoidSort, type Database, NIL_UUID, type Queryable, SHARD_NUMBER, transaction } from "@parley/service-kit";
import { microsecondsSql, type SessionPosition, toTimestamp, visitorSessionsSql } from "../sessions/index.ts";

/** A request to erase a visitor. */
export type Erasure = {
  workspaceId: string;
  requestId: string;
  visitorId: string;
  /** Whether every session that started before the request is committed. Only then can the erasure be complete. */
  areSessionsCommitted: boolean;
};

/**
 * OpenTurn sets a session's start time in the statement that stores the session. The statement takes at most 10 s (statement_timeout); 60 s
 * leave a margin.
 */
const COMMITTED_AFTER_SECONDS = 60;

// If a failover set the database's clock back, a stored session may have started after the current time. The request must cover this
// session too, so `requested_at` is never before the start of the visitor's last session.
const STORE = `
  WITH visitor AS (
    SELECT count(*) AS sessions, max(s.started_at) AS last_started_at
    FROM (${visitorSessionsSql({ workspace: "$1", visitor: "$3", where: () => "true" })}) s
  ), stored AS (
    INSERT INTO conversation.erasures (workspace_id, request_id, visitor_id, requested_at)
    SELECT $1, $2::uuid, $3, greatest(clock_timestamp(), last_started_at) FROM visitor
    ON CONFLICT (workspace_id, request_id) DO NOTHING
    RETURNING request_id
  )
  SELECT sessions, EXISTS (SELECT FROM stored) AS "isNew", ${SHARD_NUMBER} AS shard FROM visitor`;

export type StoredErasure = {
  /** The number of the visitor's sessions that are not erased. */
  sessions: number;
  /** False if the request was stored before. */
  isNew: boolean;
  /** Whether the request id belongs to the erasure of another visitor. */
  isReused: boolean;
  /** The number of the shard that has the request. */
  shard: number;
};

export async function storeErasure(
  database: Queryable,
  { workspaceId, requestId, visitorId }: Pick<Erasure, "workspaceId" | "requestId" | "visitorId">,
): Promise<StoredErasure> {
  type Stored = Omit<StoredErasure, "isReused">;
  const { rows } = await database.query<Stored>(STORE, [workspaceId, requestId, visitorId]);
  const stored = rows[0] ?? { sessions: 0, isNew: false, shard: 0 };
  if (stored.isNew) return { ...stored, isReused: false };
  const { rows: earlier } = await database.query<{ visitorId: string }>(
    'SELECT visitor_id AS "visitorId" FROM conversation.erasures WHERE workspace_id = $1 AND request_id = $2',
    [workspaceId, requestId],
  );
  return { ...stored, isReused: earlier.some((each) => each.visitorId !== visitorId) };
}

/** Returns the next requests after `after`, ordered by workspace and id. If `after` is undefined, returns the first ones. */
export async function listErasures(
  database: Database,
  { after, limit }: { after: Erasure | undefined; limit: number },
): Promise<Erasure[]> {
  const { rows } = await database.query<Erasure>(
    `SELECT workspace_id AS "workspaceId", request_id AS "requestId", visitor_id AS "visitorId",
            requested_at < clock_timestamp() - make_interval(secs => $2) AS "areSessionsCommitted"
     FROM conversation.erasures WHERE (workspace_id, request_id) > ($3, $4::uuid)
     ORDER BY workspace_id, request_id LIMIT $1`,
    [limit, COMMITTED_AFTER_SECONDS, after?.workspaceId ?? "", after?.requestId ?? NIL_UUID],
  );
  return rows;
}

const LISTED_SESSIONS = visitorSessionsSql({
  workspace: "$1",
  visitor: "$3",
  where: (at, sessionId) => `
    s.started_at <= (SELECT requested_at FROM conversation.erasures WHERE workspace_id = $1 AND request_id = $2)
    AND (${at}, ${sessionId}) > ($5::timestamptz, $6::uuid)`,
  page: { order: "ASC", limit: "$4" },
});

/**
 * Returns the next sessions after `after` that the request erases: those that have or had the visitor's id and started before the request.
 * Orders them by the visitor's last activity. If `after` is undefined, returns the first ones.
 */
export async function listSessionsToErase(
  database: Database,
  { workspaceId, requestId, visitorId }: Erasure,
  { after, limit }: { after: SessionPosition | undefined; limit: number },
): Promise<SessionPosition[]> {
  const activity = after === undefined ? "-infinity" : toTimestamp(BigInt(after.microseconds));
  const { rows } = await transaction(database, async (connection) => {
    await avoidSort(connection, { table: "conversation.sessions", workspaceId });
    return connection.query<SessionPosition>(
      `SELECT s.session_id AS "sessionId", ${microsecondsSql("s.at")} AS microseconds
       FROM (${LISTED_SESSIONS}) s
       ORDER BY s.at, s.session_id
       LIMIT $4`,
      [workspaceId, requestId, visitorId, limit, activity, after?.sessionId ?? NIL_UUID],
    );
  });
  return rows;
}

/** Deletes a request, and with it the visitor's id. */
export async function deleteErasure(database: Database, { workspaceId, requestId }: Erasure): Promise<void> {
  await database.query("DELETE FROM conversation.erasures WHERE workspace_id = $1 AND request_id = $2", [
    workspaceId,
    requestId,
  ]);
}

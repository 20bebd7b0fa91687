import type { Database, Queryable } from "@parley/service-kit";
import { isVisitorSql } from "../sessions/index.ts";

/** A stored request to erase a visitor. */
export type Erasure = {
  workspaceId: string;
  requestId: string;
  visitorId: string;
  /** Whether every session that started before the request is visible by now. Only then can the erasure be complete. */
  areSessionsVisible: boolean;
};

/**
 * After this time, every session that started before the request is visible. OpenTurn stores a session with its start time in one statement,
 * which ends within 10 s (statement_timeout).
 */
const VISIBLE_AFTER_SECONDS = 60;

const STORE = `
  WITH stored AS (
    INSERT INTO conversation.erasures (workspace_id, request_id, visitor_id, requested_at) VALUES ($1, $2, $3, clock_timestamp())
    ON CONFLICT (workspace_id, request_id) DO NOTHING
    RETURNING request_id
  )
  SELECT count(*) AS sessions, EXISTS (SELECT FROM stored) AS "isNew"
  FROM conversation.sessions s WHERE s.workspace_id = $1 AND ${isVisitorSql("$3")} AND s.erased_at IS NULL`;

export type StoredErasure = {
  /** How many sessions of the visitor are not erased. */
  sessions: number;
  /** Whether this call stored the request. */
  isNew: boolean;
};

/** Stores a request, unless it is stored already. */
export async function storeErasure(
  database: Queryable,
  { workspaceId, requestId, visitorId }: Pick<Erasure, "workspaceId" | "requestId" | "visitorId">,
): Promise<StoredErasure> {
  const { rows } = await database.query<StoredErasure>(STORE, [workspaceId, requestId, visitorId]);
  return rows[0] ?? { sessions: 0, isNew: false };
}

/** Returns the stored requests, oldest first. */
export async function listErasures(database: Database, limit: number): Promise<Erasure[]> {
  const { rows } = await database.query<Erasure>(
    `SELECT workspace_id AS "workspaceId", request_id AS "requestId", visitor_id AS "visitorId",
            requested_at < clock_timestamp() - make_interval(secs => $2) AS "areSessionsVisible"
     FROM conversation.erasures ORDER BY requested_at, request_id LIMIT $1`,
    [limit, VISIBLE_AFTER_SECONDS],
  );
  return rows;
}

/** Lists sessions that a request erases: the visitor's sessions that started before the request. */
export async function listSessionsToErase(
  database: Database,
  { workspaceId, requestId, visitorId }: Erasure,
  limit: number,
): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    `SELECT s.session_id AS id
     FROM conversation.sessions s JOIN conversation.erasures e ON e.workspace_id = s.workspace_id AND e.request_id = $2
     WHERE s.workspace_id = $1 AND ${isVisitorSql("$3")} AND s.erased_at IS NULL AND s.started_at <= e.requested_at
     LIMIT $4`,
    [workspaceId, requestId, visitorId, limit],
  );
  return rows.map((row) => row.id);
}

/** Deletes a request, and with it the visitor's id. */
export async function deleteErasure(database: Database, { workspaceId, requestId }: Erasure): Promise<void> {
  await database.query("DELETE FROM conversation.erasures WHERE workspace_id = $1 AND request_id = $2", [
    workspaceId,
    requestId,
  ]);
}

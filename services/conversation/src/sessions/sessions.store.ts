import type { Database, Queryable } from "@parley/service-kit";
import { IS_LISTED, RATING, REVIEW } from "./session-fields.store.ts";

export type SessionSummary = {
  id: string;
  botSlug: string;
  /** "widget" or "playground". */
  source: string;
  /** The number of messages, including those of streaming turns. */
  messages: number;
  startedAt: Date;
  lastActivityAt: Date;
  /** The visitor's ratings: "down" if any reply has it, otherwise "up" if any reply has it, otherwise empty. */
  rating: string;
  /** The owner's reviews: "bad" if any reply has it, otherwise "good" if any reply has it, otherwise empty. */
  review: string;
};

/** Lists a workspace's sessions, most recently active first. Leaves out deleted and erased sessions. */
export async function listSessions(database: Database, workspaceId: string, limit: number): Promise<SessionSummary[]> {
  const { rows } = await database.query<SessionSummary>(
    `SELECT s.session_id AS id, b.slug AS "botSlug", s.source, s.started_at AS "startedAt", s.last_activity_at AS "lastActivityAt",
            (SELECT count(*) FROM conversation.messages m
             WHERE m.workspace_id = s.workspace_id AND m.session_id = s.session_id) AS messages,
            ${RATING} AS rating, ${REVIEW} AS review
     FROM (
       SELECT * FROM conversation.sessions
       WHERE workspace_id = $1 AND deleted_at IS NULL AND erased_at IS NULL
       ORDER BY last_activity_at DESC
       LIMIT $2
     ) s
     JOIN conversation.bots b ON b.workspace_id = s.workspace_id AND b.bot_id = s.bot_id
     ORDER BY s.last_activity_at DESC`,
    [workspaceId, limit],
  );
  return rows;
}

export type SessionDetails = Omit<SessionSummary, "messages" | "rating" | "review"> & {
  visitorId: string;
  /** A JSON object. */
  visitorMetadata: string;
  referrer: string;
  userAgent: string;
};

/** Undefined if there is no such session or if it was deleted or erased. */
export async function findSession(
  database: Database,
  workspaceId: string,
  sessionId: string,
): Promise<SessionDetails | undefined> {
  const { rows } = await database.query<SessionDetails>(
    `SELECT s.session_id AS id, b.slug AS "botSlug", s.source, s.started_at AS "startedAt", s.last_activity_at AS "lastActivityAt",
            coalesce(s.visitor_id, '') AS "visitorId", coalesce(s.visitor_metadata, '{}')::text AS "visitorMetadata",
            coalesce(s.referrer, '') AS referrer, coalesce(s.user_agent, '') AS "userAgent"
     FROM conversation.sessions s
     JOIN conversation.bots b ON b.workspace_id = s.workspace_id AND b.bot_id = s.bot_id
     WHERE s.workspace_id = $1 AND s.session_id = $2 AND ${IS_LISTED}`,
    [workspaceId, sessionId],
  );
  return rows[0];
}

/** Hides a session but keeps its content. Returns false if there is no such session or if it was deleted or erased before. */
export async function deleteSession(database: Queryable, workspaceId: string, sessionId: string): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE conversation.sessions SET deleted_at = now()
     WHERE workspace_id = $1 AND session_id = $2 AND deleted_at IS NULL AND erased_at IS NULL`,
    [workspaceId, sessionId],
  );
  return rowCount === 1;
}

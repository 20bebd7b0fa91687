import { type Database, onShardOfWorkspace } from "@parley/service-kit";
import {
  EXPORTED_SESSION_FIELDS,
  hasHadVisitorSql,
  IS_LISTED,
  microsecondsSql,
  OWNER_MESSAGE_FIELDS,
  RATING,
  REVIEW,
  type SessionFilters,
} from "../sessions/index.ts";

/** A session with more messages is read individually, in pages of messages, so that a page of sessions stays small. */
const MAX_SMALL_SESSION_MESSAGES = 64;
/** A page ends before the session that would exceed this limit. */
const MAX_PAGE_MESSAGES = 2_000;

export type ExportedSession = {
  id: string;
  /** In microseconds since 1970. */
  startedAt: number;
  /** Whether the session matches the filters. */
  matches: boolean;
  /** The session as JSON; null if it does not match or has many messages. */
  session: string | null;
  /** The messages in order, as the elements of a JSON array. Empty if there are none, or if `session` is null. */
  messages: string;
};

const MATCHES = `$6 IN ('', b.slug) AND $7 IN ('', s.source) AND ($8 = '' OR ${hasHadVisitorSql("$8")}) AND $9 IN ('', ${RATING}) AND $10 IN ('', ${REVIEW})`;

// Reads each page with one short statement, so that a client that reads slowly holds neither a connection nor a snapshot. The lateral join `b`
// provides the bot's slug to EXPORTED_SESSION_FIELDS.
const pageSql = (comparison: ">" | ">=") => `
  SELECT s.session_id AS id, ${microsecondsSql("s.started_at")} AS "startedAt", s.matches,
         CASE WHEN s.is_included THEN (SELECT row_to_json(document)::text FROM (SELECT ${EXPORTED_SESSION_FIELDS}) document) END AS session,
         coalesce(CASE WHEN s.is_included THEN (
           SELECT string_agg(row_to_json(document)::text, ',' ORDER BY document.id::bigint)
           FROM (
             SELECT ${OWNER_MESSAGE_FIELDS}
             FROM conversation.messages m
             WHERE m.workspace_id = s.workspace_id AND m.session_id = s.session_id
               AND m.turn_id <> ALL (ARRAY(
                 SELECT t.turn_id FROM conversation.turns t
                 WHERE t.workspace_id = s.workspace_id AND t.session_id = s.session_id AND t.status = 'streaming'
               ))
           ) document
         ) END, '') AS messages
  FROM (
    SELECT s.*, coalesce(sum(s.message_count) FILTER (WHERE s.is_included) OVER (ORDER BY s.started_at, s.session_id), 0) AS messages_so_far
    FROM (
      SELECT s.*, b.slug, ${MATCHES} AS matches,
             ${MATCHES} AND s.message_count <= ${MAX_SMALL_SESSION_MESSAGES} AS is_included
      FROM (
        SELECT * FROM conversation.sessions s
        WHERE s.workspace_id = $1 AND ${IS_LISTED}
          AND (s.started_at, s.session_id) ${comparison} ($2::timestamptz, $3::uuid) AND s.started_at < $4::timestamptz
        ORDER BY s.started_at, s.session_id
        LIMIT $5
      ) s
      JOIN conversation.bots b ON b.workspace_id = s.workspace_id AND b.bot_id = s.bot_id
    ) s
  ) s
  CROSS JOIN LATERAL (SELECT s.slug) b
  WHERE s.messages_so_far <= ${MAX_PAGE_MESSAGES}
  ORDER BY s.started_at, s.session_id`;

const PAGE_STATEMENTS = {
  export_sessions_from: pageSql(">="),
  export_sessions_after: pageSql(">"),
};

export type ExportPage = {
  workspaceId: string;
  filters: SessionFilters;
  /**
   * The position from which the page is read: a session's start (a timestamp that PostgreSQL parses) and id. If `isInclusive`, the page includes
   * that session.
   */
  startedAt: string;
  sessionId: string;
  isInclusive: boolean;
  /** The page has only sessions that started before this time. */
  until: string;
  limit: number;
};

/**
 * Returns a page of a workspace's sessions in the order of their start. The page may have fewer than `limit` sessions. It is empty only after
 * the last session.
 */
export async function readSessions(database: Database, page: ExportPage): Promise<ExportedSession[]> {
  const name = page.isInclusive ? "export_sessions_from" : "export_sessions_after";
  const { botSlug, source, visitorId, rating, review } = page.filters;
  const position = [page.workspaceId, page.startedAt, page.sessionId, page.until, page.limit];
  const values = [...position, botSlug, source, visitorId, rating, review];
  const { rows } = await database.query<ExportedSession>({ name, text: PAGE_STATEMENTS[name], values });
  return rows;
}

/** Returns the earlier of `until` and 60 s ago by the database's clock, in microseconds since 1970. */
export async function readExportEnd(
  database: Database,
  workspaceId: string,
  until: string | undefined,
): Promise<number> {
  const end = microsecondsSql("least($2::timestamptz, clock_timestamp() - interval '60 seconds')");
  const { rows } = await database.query<{ end: number }>(onShardOfWorkspace("conversation.sessions", `${end} AS end`), [
    workspaceId,
    until,
  ]);
  return rows[0]?.end ?? 0;
}

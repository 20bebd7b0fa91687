/** Returns SQL that formats a time for a transcript, such as `2026-11-21T02:32:49.562223+00:00`. */
export const formatTimeSql = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')`;

/** Returns SQL for a time in microseconds since 1970. */
export const microsecondsSql = (column: string) => `(extract(epoch FROM ${column}) * 1000000)::bigint`;

/** SQL condition: owners may see the session `s`, a row of conversation.sessions. */
export const IS_LISTED = "s.deleted_at IS NULL AND s.erased_at IS NULL";

/** Returns SQL for the hash of a visitor's id in conversation.session_visitors. `idSql` is a SQL expression, such as `$3`. */
export const visitorHashSql = (idSql: string) => `sha256(convert_to(${idSql}, 'UTF8'))`;

/** Returns a SQL condition: the session `s`, a row of conversation.sessions, has the visitor's id or had it before. */
export const hasHadVisitorSql = (idSql: string) =>
  `(s.visitor_id = ${idSql} OR s.visitor_since IS NOT NULL AND EXISTS (
      SELECT FROM conversation.session_visitors v
      WHERE v.workspace_id = s.workspace_id AND v.session_id = s.session_id AND v.visitor_hash = ${visitorHashSql(idSql)}
    ))`;

/** SQL expressions and conditions for visitorSessionsSql. */
type VisitorSessions = {
  workspace: string;
  /** The visitor's id, which must not be empty. */
  visitor: string;
  /** Returns the condition on the session `s`. `at` is the column `at`, described below. */
  where: (at: string, sessionId: string) => string;
  /** Undefined for all sessions, in any order. */
  page?: { order: "ASC" | "DESC"; limit: string };
};

/**
 * Returns a query of a visitor's sessions, without erased ones: those that have the visitor's id, and those whose id another one replaced. The
 * column `at` is the time of the visitor's last activity: the session's last activity, or the time of the replacement. A page is a superset of the
 * first `limit` sessions, not in order: each of the two parts is limited, so that it is read in the order of an index.
 *
 * The index on visitors' ids stores hashes and omits empty ids. The conditions compare hashes and exclude empty ids, so that PostgreSQL can
 * use this index.
 */
export function visitorSessionsSql({ workspace, visitor, where, page }: VisitorSessions): string {
  const limitSql = (at: string, sessionId: string) =>
    page === undefined ? "" : `ORDER BY ${at} ${page.order}, ${sessionId} ${page.order} LIMIT ${page.limit}`;
  return `
    (SELECT s.*, s.last_activity_at AS at
     FROM conversation.sessions s
     WHERE s.workspace_id = ${workspace} AND hashtextextended(s.visitor_id, 0) = hashtextextended(${visitor}, 0)
       AND s.visitor_id <> '' AND s.visitor_id = ${visitor} AND s.erased_at IS NULL AND ${where("s.last_activity_at", "s.session_id")}
     ${limitSql("s.last_activity_at", "s.session_id")})
    UNION ALL
    (SELECT s.*, v.replaced_at AS at
     FROM conversation.session_visitors v
     JOIN conversation.sessions s ON s.workspace_id = v.workspace_id AND s.session_id = v.session_id
     WHERE v.workspace_id = ${workspace} AND v.visitor_hash = ${visitorHashSql(visitor)}
       AND s.visitor_id <> ${visitor} AND s.erased_at IS NULL AND ${where("v.replaced_at", "v.session_id")}
     ${limitSql("v.replaced_at", "v.session_id")})`;
}

/** SQL for the visitor's rating of the session `s`: 'down' if any reply is rated 'down', else 'up' if any reply is rated 'up', else ''. */
export const RATING = "CASE WHEN s.ratings_down > 0 THEN 'down' WHEN s.ratings_up > 0 THEN 'up' ELSE '' END";
/** SQL for the owner's review of the session `s`: 'bad' if any reply is reviewed 'bad', else 'good' if any reply is reviewed 'good', else ''. */
export const REVIEW = "CASE WHEN s.reviews_bad > 0 THEN 'bad' WHEN s.reviews_good > 0 THEN 'good' ELSE '' END";

/** SQL of the session's fields in a transcript. Needs `s`, a row of conversation.sessions, and `b`, its bot. */
export const SESSION_FIELDS = `
  s.session_id AS id, b.slug AS bot_slug, s.source, s.visitor_id, s.visitor_metadata, s.referrer, s.user_agent,
  ${formatTimeSql("s.started_at")} AS started_at, ${formatTimeSql("s.last_activity_at")} AS last_activity_at`;

/** A contact message as the database and the exports have it. */
export type ContactMessage = {
  /** The request that stored it. */
  id: string;
  /** Where the team replies. */
  email: string;
  message: string;
  created_at: string;
};

/** Returns the protobuf ContactMessage. */
export const toContactMessage = ({ created_at: createdAt, ...message }: ContactMessage) => ({ ...message, createdAt });

/** SESSION_FIELDS, and what the visitor has left for the team, which the transcript `export.json` does not contain. */
export const EXPORTED_SESSION_FIELDS = `${SESSION_FIELDS}, coalesce(s.contact_messages, '[]') AS contact_messages`;

/** EXPORTED_SESSION_FIELDS, and fields that the exports of all sessions do not contain. */
export const OWNER_SESSION_FIELDS = `${EXPORTED_SESSION_FIELDS}, s.visitor_verified, coalesce(s.consent_version, '') AS consent_version,
  coalesce(${formatTimeSql("s.consented_at")}, '') AS consented_at`;

/** SQL of a message's fields in a transcript. Needs `m`, a row of conversation.messages. */
export const MESSAGE_FIELDS = `
  m.message_id::text AS id, m.role, m.content, m.rating, m.model, m.tokens_in, m.tokens_out, m.latency_ms, m.status,
  m.error_message, m.rag_chunks_used, m.tools_called, ${formatTimeSql("m.created_at")} AS created_at`;

/**
 * MESSAGE_FIELDS, and fields that the transcript `export.json` does not contain: the reason of the visitor's rating, the owner's review, the chunks
 * that a reply cites, its sources, and more about how it finished.
 */
export const OWNER_MESSAGE_FIELDS = `${MESSAGE_FIELDS}, m.rating_reason, m.review,
  m.chunks_cited AS rag_chunks_cited, m.sources,
  coalesce((
    SELECT t.finish_detail FROM conversation.turns t
    WHERE t.workspace_id = m.workspace_id AND t.turn_id = m.turn_id AND m.role = 'assistant'
  ), '') AS finish_detail`;

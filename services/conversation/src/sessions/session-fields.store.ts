/** Returns SQL that formats a time for a transcript, such as `2026-11-21T02:32:49.562223+00:00`. */
export const formatTimeSql = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')`;

/** Returns SQL for a time in microseconds since 1970. */
export const microsecondsSql = (column: string) => `(extract(epoch FROM ${column}) * 1000000)::bigint`;

/** SQL condition: owners may see the session `s`, a row of conversation.sessions. */
export const IS_LISTED = "s.deleted_at IS NULL AND s.erased_at IS NULL";

/**
 * Returns a SQL condition: `s`, a row of conversation.sessions, is a session of the visitor. `idSql` is a SQL expression for the visitor's id,
 * such as `$3`. The index on visitors' ids stores hashes and omits empty ids. The condition compares hashes and excludes empty ids, so that
 * PostgreSQL can use this index.
 */
export const isVisitorSql = (idSql: string) =>
  `hashtextextended(s.visitor_id, 0) = hashtextextended(${idSql}, 0) AND s.visitor_id <> '' AND s.visitor_id = ${idSql}`;

/** SQL for the visitor's rating of the session `s`: 'down' if any reply is rated 'down', else 'up' if any reply is rated 'up', else ''. */
export const RATING = "CASE WHEN s.ratings_down > 0 THEN 'down' WHEN s.ratings_up > 0 THEN 'up' ELSE '' END";
/** SQL for the owner's review of the session `s`: 'bad' if any reply is reviewed 'bad', else 'good' if any reply is reviewed 'good', else ''. */
export const REVIEW = "CASE WHEN s.reviews_bad > 0 THEN 'bad' WHEN s.reviews_good > 0 THEN 'good' ELSE '' END";

/** SQL of the session's fields in a transcript. Needs `s`, a row of conversation.sessions, and `b`, its bot. */
export const SESSION_FIELDS = `
  s.session_id AS id, b.slug AS bot_slug, s.source, s.visitor_id, s.visitor_metadata, s.referrer, s.user_agent,
  ${formatTimeSql("s.started_at")} AS started_at, ${formatTimeSql("s.last_activity_at")} AS last_activity_at`;

/** SQL of a message's fields in a transcript. Needs `m`, a row of conversation.messages. */
export const MESSAGE_FIELDS = `
  m.message_id::text AS id, m.role, m.content, m.rating, m.model, m.tokens_in, m.tokens_out, m.latency_ms, m.status,
  m.error_message, m.rag_chunks_used, m.tools_called, ${formatTimeSql("m.created_at")} AS created_at`;

/** MESSAGE_FIELDS and the owner's review, which the transcript `export.json` does not contain. */
export const REVIEWED_MESSAGE_FIELDS = `${MESSAGE_FIELDS}, m.review`;

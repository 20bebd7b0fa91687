import type { Database } from "@parley/service-kit";
import { botSlugSql, recordEventSql } from "../events/index.ts";
import { mayUseSessionSql, type RequestVisitor, type SessionRequest } from "./session-visitor.store.ts";

const RECORD_RATED = recordEventSql({
  source: "target t",
  where: "t.rating <> $5",
  workspace: "$1",
  type: "'message.rated'",
  session: "t.session_id",
  data: `jsonb_build_object('bot_slug', ${botSlugSql("$1", "$3")}, 'session_id', t.session_id, 'message_id', t.message_id, 'rating', $5::text)`,
});

// Locks the session before the message, as an erasure does, to avoid a deadlock. After a wait for a lock, PostgreSQL reads the row again, so
// the CTE `target` has the rating that this statement replaces.
const RATE_MESSAGE = `
  WITH session AS (
    SELECT s.workspace_id, s.session_id FROM conversation.sessions s
    WHERE s.workspace_id = $1 AND s.session_id = $2 AND s.bot_id = $3 AND s.deleted_at IS NULL AND s.erased_at IS NULL
      AND ${mayUseSessionSql("$7", "$8::boolean")}
    FOR NO KEY UPDATE
  ), target AS (
    SELECT m.workspace_id, m.session_id, m.message_id, m.rating
    FROM session JOIN conversation.messages m USING (workspace_id, session_id)
    WHERE m.workspace_id = $1 AND m.session_id = $2 AND m.message_id = $4 AND m.role = 'assistant' AND m.agent_name IS NULL
    FOR NO KEY UPDATE OF m
  ), rated AS (
    UPDATE conversation.messages m SET rating = $5, rating_reason = $6
    FROM target t
    WHERE m.workspace_id = t.workspace_id AND m.session_id = t.session_id AND m.message_id = t.message_id
  ), counted AS (
    UPDATE conversation.sessions s
    SET ratings_up = s.ratings_up + ($5 = 'up')::integer - (t.rating = 'up')::integer,
        ratings_down = s.ratings_down + ($5 = 'down')::integer - (t.rating = 'down')::integer
    FROM target t
    WHERE s.workspace_id = t.workspace_id AND s.session_id = t.session_id AND t.rating <> $5
  ), event AS (${RECORD_RATED})
  SELECT FROM target`;

type RatedMessage = Omit<SessionRequest, keyof RequestVisitor> &
  Partial<RequestVisitor> & { messageId: string; rating: string; reason?: string };

/**
 * Rates a reply, and replaces the reason of the rating, which is empty by default. Returns false if the bot's session has no such reply or was deleted or erased, or if the
 * visitor may not use it.
 */
export async function rateMessage(
  database: Database,
  {
    workspaceId,
    sessionId,
    botId,
    messageId,
    rating,
    reason = "",
    visitorId = "",
    visitorVerified = false,
  }: RatedMessage,
): Promise<boolean> {
  const { rowCount } = await database.query({
    name: "rate_message",
    text: RATE_MESSAGE,
    values: [workspaceId, sessionId, botId, messageId, rating, reason, visitorId, visitorVerified],
  });
  return rowCount === 1;
}

// Locks as RATE_MESSAGE does.
const REVIEW_MESSAGE = `
  WITH session AS (
    SELECT workspace_id, session_id FROM conversation.sessions
    WHERE workspace_id = $1 AND session_id = $2 AND deleted_at IS NULL AND erased_at IS NULL
    FOR NO KEY UPDATE
  ), target AS (
    SELECT m.workspace_id, m.session_id, m.message_id, m.review
    FROM session JOIN conversation.messages m USING (workspace_id, session_id)
    WHERE m.workspace_id = $1 AND m.session_id = $2 AND m.message_id = $3 AND m.role = 'assistant' AND m.agent_name IS NULL
    FOR NO KEY UPDATE OF m
  ), reviewed AS (
    UPDATE conversation.messages m SET review = $4
    FROM target t
    WHERE m.workspace_id = t.workspace_id AND m.session_id = t.session_id AND m.message_id = t.message_id
  ), counted AS (
    UPDATE conversation.sessions s
    SET reviews_good = s.reviews_good + ($4 = 'good')::integer - (t.review = 'good')::integer,
        reviews_bad = s.reviews_bad + ($4 = 'bad')::integer - (t.review = 'bad')::integer
    FROM target t
    WHERE s.workspace_id = t.workspace_id AND s.session_id = t.session_id AND t.review <> $4
  )
  SELECT FROM target`;

/** Reviews a reply. Returns false if the session has no such reply or was deleted or erased. */
export async function reviewMessage(
  database: Database,
  target: { workspaceId: string; sessionId: string; messageId: string; review: string },
): Promise<boolean> {
  const { rowCount } = await database.query({
    name: "review_message",
    text: REVIEW_MESSAGE,
    values: [target.workspaceId, target.sessionId, target.messageId, target.review],
  });
  return rowCount === 1;
}

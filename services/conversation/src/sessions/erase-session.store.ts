import { type Database, setLocal, transaction, withQueryTimeout } from "@parley/service-kit";
import { botSlugSql, recordEventSql } from "../events/index.ts";
import {
  type ClosedTurn,
  RECORD_CLOSED_TURNS,
  RECORD_CLOSED_TURNS_FOR_EDGE,
  SELECT_CLOSED_TURNS,
  WITHOUT_REPLY,
} from "../turns/index.ts";

/** PostgreSQL's limit for each statement: enough for a session of a million messages. */
const STATEMENT_TIMEOUT_MS = 120_000;
/** The PostgreSQL client's limit is longer, so that PostgreSQL cancels a slow statement first. */
const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2_000;

// With a retention ($3), a session stays while a reply is running, and for the retention after the end of its last reply. OpenTurn sets
// last_activity_at, so PostgreSQL, which checks that column again after waiting for the row's lock, keeps a session that became active.
const ERASE_SESSION = `
  WITH erased AS (
  UPDATE conversation.sessions s
  SET erased_at = now(), visitor_id = NULL, replaced_visitor = NULL, visitor_metadata = NULL, referrer = NULL, user_agent = NULL,
      consent_version = NULL, consented_at = NULL, message_count = 0, ratings_up = 0, ratings_down = 0, reviews_good = 0, reviews_bad = 0,
      handoff_state = NULL, handoff_reason = NULL, handoff_requested_at = NULL, handoff_expires_at = NULL, agent_id = NULL, agent_name = NULL,
      contact_messages = NULL, contact_at = NULL
  WHERE s.workspace_id = $1 AND s.session_id = $2 AND s.erased_at IS NULL
    AND ($3::int IS NULL OR (
      s.last_activity_at < now() - make_interval(mins => $3)
      AND NOT EXISTS (SELECT FROM conversation.turns t WHERE t.workspace_id = $1 AND t.session_id = $2 AND t.status = 'streaming')
      AND NOT EXISTS (
        SELECT FROM conversation.messages m
        WHERE m.workspace_id = $1 AND m.session_id = $2 AND m.message_id = s.last_message_id AND m.closed_at >= now() - make_interval(mins => $3)
      )
    ))
  RETURNING s.workspace_id, s.session_id, s.bot_id
  ), event AS (${recordEventSql({
    source: "erased e",
    workspace: "$1",
    type: "'conversation.erased'",
    session: "e.session_id",
    data: `jsonb_build_object('bot_slug', ${botSlugSql("$1", "e.bot_id")}, 'session_id', e.session_id)`,
  })})
  SELECT FROM erased e WHERE e.workspace_id = $1`;

const CANCEL_TURNS = `
  WITH closed AS (
    UPDATE conversation.turns t SET status = 'cancelled', closed_at = now()
    WHERE t.workspace_id = $1 AND t.session_id = $2 AND t.status = 'streaming'
    RETURNING t.*, ${WITHOUT_REPLY}
  ), ${RECORD_CLOSED_TURNS}, ${RECORD_CLOSED_TURNS_FOR_EDGE}
  ${SELECT_CLOSED_TURNS}
  WHERE c.workspace_id = $1`;

const DELETE_NOTES = "DELETE FROM conversation.session_notes WHERE workspace_id = $1 AND session_id = $2";

const DELETE_VISITORS = "DELETE FROM conversation.session_visitors WHERE workspace_id = $1 AND session_id = $2";

// A receiver may repeat the texts that it got. See recordAttempt, which stores no response of an erased session.
const CLEAR_RESPONSES = `
  UPDATE conversation.webhook_deliveries SET response_body = NULL
  WHERE workspace_id = $1 AND session_id = $2 AND response_body IS NOT NULL`;

const DELETE_CONTENT = `
  WITH erased AS (
    DELETE FROM conversation.messages WHERE workspace_id = $1 AND session_id = $2 RETURNING turn_id
  )
  UPDATE conversation.turns t SET phases = NULL, error_code = '', blocked_reason = NULL, key_hash = NULL, request_hash = NULL, ending = NULL
  WHERE t.workspace_id = $1 AND t.turn_id IN (SELECT turn_id FROM erased)`;

/**
 * Erases a session's content in one transaction, and returns the open turns that the erasure closed. Keeps the turns' rows, without content,
 * because they count as usage. Returns undefined if there is no such session or if it was erased before. With `retentionMinutes`, returns
 * undefined also if a reply of the session is running, or if its last message ended less than that long ago.
 *
 * The transaction locks the session's row, as OpenTurn does, and then the open turns, as CloseTurn does. A concurrent OpenTurn or CloseTurn
 * therefore runs before the erasure or stores nothing.
 */
export async function eraseSession(
  database: Database,
  workspaceId: string,
  sessionId: string,
  retentionMinutes?: number,
): Promise<ClosedTurn[] | undefined> {
  const sessionKey = [workspaceId, sessionId];
  const query = (text: string, values: unknown[] = sessionKey) => withQueryTimeout(text, values, QUERY_TIMEOUT_MS);
  return transaction(database, async (connection) => {
    const key = { table: "conversation.sessions", workspaceId };
    await setLocal(connection, key, "statement_timeout", String(STATEMENT_TIMEOUT_MS));
    const { rowCount } = await connection.query(query(ERASE_SESSION, [...sessionKey, retentionMinutes]));
    if (rowCount === 0) return undefined;
    const { rows } = await connection.query<ClosedTurn>(query(CANCEL_TURNS));
    await connection.query(query(DELETE_NOTES));
    await connection.query(query(DELETE_VISITORS));
    await connection.query(query(CLEAR_RESPONSES));
    await connection.query(query(DELETE_CONTENT));
    return rows;
  });
}

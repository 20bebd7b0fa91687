import type { Database } from "@parley/service-kit";
import { mayUseSessionSql, type RequestVisitor } from "../sessions/index.ts";

/** Bounds the turns that the query reads, because `maxCharacters` does not count failed turns. */
const MAX_TURNS = 50;

/** Longer than a visitor's message may be, so that only replies are shortened. */
const MESSAGE_SHARE = 0.25;
const MARKER = "\n[…]\n";

/** SQL expressions. */
type HistoryExpressions = {
  workspace: string;
  session: string;
  /** The id of the visitor's message that follows the history. */
  messageId: string;
  /** The id of the first message that may be in the history; null for the session's first message. */
  start: string;
  /** Only turns closed before this time. */
  closedBefore: string;
  maxCharacters: string;
};

/** Returns SQL for a text, shortened in the middle to `share` of `maxCharacters`. PostgreSQL counts code points, so no character is split. */
function shortenSql(text: string, maxCharacters: string, share: number): string {
  const half = `(${maxCharacters}::int * ${share / 2} - ${MARKER.length})::int`;
  return `CASE WHEN length(${text}) <= ${maxCharacters}::int * ${share} THEN ${text}
               ELSE left(${text}, ${half}) || '${MARKER}' || right(${text}, ${half}) END`;
}

/**
 * Returns a subquery with one row and one column `exchanges`: the newest finished turns that fit into `maxCharacters`, as a JSON array of
 * [message, reply], oldest first. Long texts are shortened in the middle, so the newest finished turn always fits. The column is null if there
 * are none. A visitor's message to a person is an exchange with an empty reply, and a person's message one with an empty message.
 *
 * The query walks back turn by turn: each step reads the two messages with the next lower ids. Those of a turn are adjacent (message-ids.ts). If the
 * two differ in their turn, the first is a message to or of a person, and the step leaves the second to the next one. A simpler query for the newest rows sorts the whole session if the planner underestimates its length.
 */
export function historySql({
  workspace,
  session,
  messageId,
  start,
  closedBefore,
  maxCharacters,
}: HistoryExpressions): string {
  return `
    WITH RECURSIVE walk (message_id, message, reply, is_finished, characters, turns) AS (
      SELECT ${messageId}::bigint, '', '', false, 0::bigint, 0
      UNION ALL
      SELECT turn.message_id, turn.message, turn.reply, turn.is_finished,
             walk.characters + CASE WHEN turn.is_finished THEN length(turn.message) + length(turn.reply) ELSE 0 END,
             walk.turns + 1
      FROM walk CROSS JOIN LATERAL (
        SELECT min(message_id) AS message_id,
               coalesce(max(${shortenSql("content", maxCharacters, MESSAGE_SHARE)}) FILTER (WHERE role = 'user'), '') AS message,
               coalesce(max(${shortenSql("content", maxCharacters, 1 - MESSAGE_SHARE)}) FILTER (WHERE role = 'assistant'), '') AS reply,
               bool_or(role = 'assistant' AND status = 'done' AND content <> '' AND closed_at < ${closedBefore}) OR bool_and(role = 'user') AS is_finished
        FROM (
          SELECT *, first_value(turn_id) OVER (ORDER BY message_id DESC) AS first_turn_id
          FROM (
            SELECT message_id, turn_id, role, status, content, closed_at
            FROM conversation.messages
            WHERE workspace_id = ${workspace} AND session_id = ${session} AND message_id < walk.message_id
              AND message_id >= coalesce(${start}, 0)
            ORDER BY message_id DESC
            LIMIT 2
          ) newest
        ) pair
        WHERE turn_id = first_turn_id
      ) turn
      WHERE turn.message_id IS NOT NULL AND walk.characters <= ${maxCharacters} AND walk.turns < ${MAX_TURNS}
    )
    SELECT json_agg(json_build_array(message, reply) ORDER BY message_id) AS exchanges
    FROM walk
    WHERE is_finished AND walk.characters <= ${maxCharacters}`;
}

/** The newest message always fits: MESSAGE_SHARE of this is the longest part of a message that the knowledge search uses. */
const EARLIER_CHARACTERS = 4_000;

// If the request replaces the session's visitor, its prompt has no history (see open-turn.store.ts), and there are no earlier messages.
const READ_EARLIER_MESSAGES = `
  SELECT history.exchanges
  FROM conversation.sessions s
  CROSS JOIN LATERAL (${historySql({
    workspace: "$1",
    session: "s.session_id",
    messageId: `${Number.MAX_SAFE_INTEGER}`,
    start: "CASE WHEN s.source = 'widget' THEN s.visitor_since END",
    closedBefore: "clock_timestamp()",
    maxCharacters: "$5",
  })}) history
  WHERE s.workspace_id = $1 AND s.session_id = $2 AND s.bot_id = $3 AND s.deleted_at IS NULL AND s.erased_at IS NULL
    AND NOT (s.source = 'widget' AND $4 <> '' AND s.visitor_id <> '' AND s.visitor_id <> $4)
    AND ${mayUseSessionSql("$4", "$6::boolean")}`;

/** Returns the visitor's messages in a session that the prompt of a new turn would contain, newest first. */
export async function readEarlierMessages(
  database: Database,
  {
    workspaceId,
    sessionId,
    botId,
    visitorId,
    visitorVerified,
  }: RequestVisitor & { workspaceId: string; sessionId: string; botId: string },
): Promise<string[]> {
  const { rows } = await database.query<{ exchanges: [string, string][] | null }>({
    name: "read_earlier_messages",
    text: READ_EARLIER_MESSAGES,
    values: [workspaceId, sessionId, botId, visitorId, EARLIER_CHARACTERS, visitorVerified],
  });
  return (rows[0]?.exchanges ?? []).flatMap(([message]) => (message === "" ? [] : [message])).reverse();
}

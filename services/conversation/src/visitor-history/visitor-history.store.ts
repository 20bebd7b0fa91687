import type { TurnStatus } from "@parley/rpc/outcomes";
import { avoidSort, type Database, transaction } from "@parley/service-kit";
import { formatTimeSql, IS_LISTED, microsecondsSql, type SessionPosition, toTimestamp } from "../sessions/index.ts";
import type { MessageSource } from "../turns/index.ts";

/** A visitor of a bot whose id a visitor token has verified. */
export type VerifiedVisitor = { workspaceId: string; botId: string; visitorId: string };

export type VisitorSession = { id: string; title: string; startedAt: string; lastActivityAt: string };

type SessionRow = VisitorSession & { microseconds: number };

const PAGE_SESSIONS = 20;
/** In code points. */
const TITLE_CHARACTERS = 80;

/** SQL condition: the session `s` belongs to the verified visitor $3 of the bot $2. The visitor's id alone is not enough: anybody can claim it. */
const IS_OWN = `s.bot_id = $2 AND s.visitor_id = $3 AND s.visitor_verified AND ${IS_LISTED}`;

/** SQL condition: the visitor of the session `s` may see the message `m`. Those before the session's last change of visitors are another visitor's. */
const IS_OWN_MESSAGE = `m.workspace_id = $1 AND m.session_id = s.session_id AND m.message_id >= coalesce(s.visitor_since, 0)`;

// A message's time is read after its session's last activity, so the first one may be later. Compares hashes too, because the index sessions_verified has the hash of the id.
const LIST_SESSIONS = `
  SELECT s.session_id AS id, left(first_message.content, ${TITLE_CHARACTERS}) AS title, ${formatTimeSql("first_message.created_at")} AS "startedAt",
         ${formatTimeSql("greatest(s.last_activity_at, first_message.created_at)")} AS "lastActivityAt", ${microsecondsSql("s.last_activity_at")} AS microseconds
  FROM conversation.sessions s
  CROSS JOIN LATERAL (
    SELECT m.content, m.created_at FROM conversation.messages m WHERE ${IS_OWN_MESSAGE} ORDER BY m.message_id LIMIT 1
  ) first_message
  WHERE s.workspace_id = $1 AND ${IS_OWN} AND hashtextextended(s.visitor_id, 0) = hashtextextended($3, 0)
    AND (s.last_activity_at, s.session_id) < ($4::timestamptz, $5::uuid)
  ORDER BY s.last_activity_at DESC, s.session_id DESC
  LIMIT ${PAGE_SESSIONS + 1}`;

/** After every session. */
const START = { at: "infinity", sessionId: "ffffffff-ffff-ffff-ffff-ffffffffffff" };

/** Lists a visitor's sessions, last active first, after a position. `next` is undefined after the last page. */
export async function listVisitorSessions(
  database: Database,
  { workspaceId, botId, visitorId }: VerifiedVisitor,
  after: SessionPosition | undefined,
): Promise<{ sessions: VisitorSession[]; next: SessionPosition | undefined }> {
  const { at, sessionId } = after ? { at: toTimestamp(BigInt(after.microseconds)), sessionId: after.sessionId } : START;
  const rows = await readInOrder<SessionRow>(database, workspaceId, {
    name: "list_visitor_sessions",
    text: LIST_SESSIONS,
    values: [workspaceId, botId, visitorId, at, sessionId],
  });
  const page = rows.slice(0, PAGE_SESSIONS);
  const last = page.at(-1);
  return {
    sessions: page.map(({ microseconds: _, ...session }) => session),
    next: rows.length > PAGE_SESSIONS && last ? { microseconds: last.microseconds, sessionId: last.id } : undefined,
  };
}

export type VisitorMessage = {
  id: number;
  isReply: boolean;
  content: string;
  createdAt: string;
  status: TurnStatus;
  errorCode: string;
  rating: string;
  sources: MessageSource[];
  /** The person who wrote the message; null for other messages. */
  agentName: string | null;
  model: string;
};

const MAX_MESSAGE_ID = BigInt(Number.MAX_SAFE_INTEGER);

type MessageRow = VisitorMessage & { olderId: number | null };

const PAGE_MESSAGES = 50;
/** A page ends with the turn that exceeds this, which bounds the memory of a page of long replies. */
const PAGE_CHARACTERS = 128 * 1024;

// A row's predecessors are newer. A turn's reply directly precedes its message, which does not count it, so that a page never splits a turn. The
// query returns no row if the session is not the visitor's, and one row of nulls if no message is left. It finds the session by its id before it checks
// the visitor: a generic plan with both conditions would read the bot's part of the index sessions_verified.
const LIST_MESSAGES = `
  WITH session AS MATERIALIZED (
    SELECT s.* FROM conversation.sessions s WHERE s.workspace_id = $1 AND s.session_id = $4
  )
  SELECT page.*
  FROM session s
  LEFT JOIN LATERAL (
    SELECT m.message_id AS id, m.role = 'assistant' AS "isReply", m.content, ${formatTimeSql("m.created_at")} AS "createdAt",
           m.status, m.error_message AS "errorCode", m.rating, m.sources, m.agent_name AS "agentName", m.model, m.older_id AS "olderId"
    FROM (
      SELECT m.*, row_number() OVER newest_first AS number, lead(m.message_id) OVER newest_first AS older_id,
             coalesce(CASE m.role
               WHEN 'assistant' THEN sum(length(m.content)) OVER (newest_first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
               ELSE sum(length(m.content)) OVER (newest_first ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING)
             END, 0) AS newer_characters
      FROM (
        SELECT m.* FROM conversation.messages m
        WHERE ${IS_OWN_MESSAGE} AND m.message_id < $5
        ORDER BY m.message_id DESC
        LIMIT ${PAGE_MESSAGES + 1}
      ) m
      WINDOW newest_first AS (ORDER BY m.message_id DESC)
    ) m
    WHERE m.number <= ${PAGE_MESSAGES} AND m.newer_characters <= ${PAGE_CHARACTERS}
  ) page ON true
  WHERE s.workspace_id = $1 AND ${IS_OWN}`;

/**
 * Returns the newest messages of a visitor's session below the id `before` (0 for the newest of all), in ascending order. `nextBefore` is 0 if
 * there are no older ones. Returns undefined if the session does not belong to the visitor, or was deleted or erased.
 */
export async function listVisitorMessages(
  database: Database,
  { workspaceId, botId, visitorId }: VerifiedVisitor,
  { sessionId, before }: { sessionId: string; before: bigint },
): Promise<{ messages: VisitorMessage[]; nextBefore: number } | undefined> {
  const rows = await readInOrder<MessageRow | { id: null }>(database, workspaceId, {
    name: "list_visitor_messages",
    text: LIST_MESSAGES,
    values: [workspaceId, botId, visitorId, sessionId, before || MAX_MESSAGE_ID],
  });
  if (rows.length === 0) return undefined;
  const messages = rows.filter((row): row is MessageRow => row.id !== null).sort((a, b) => a.id - b.id);
  // Among messages to and of people, the limit may fall between a turn's message and its reply.
  if (messages.length === PAGE_MESSAGES && messages[0]?.isReply && messages[0].agentName === null) messages.shift();
  const [first] = messages;
  return {
    messages: messages.map(({ olderId: _, ...message }) => message),
    nextBefore: first && first.olderId !== null ? first.id : 0,
  };
}

/**
 * Runs a statement that reads a page in the order of an index. Without avoidSort, PostgreSQL would read and sort all of a visitor's sessions or of a
 * session's messages, because it underestimates their number.
 */
async function readInOrder<Row>(
  database: Database,
  workspaceId: string,
  statement: { name: string; text: string; values: unknown[] },
): Promise<Row[]> {
  return transaction(database, async (connection) => {
    await avoidSort(connection, { table: "conversation.sessions", workspaceId });
    return (await connection.query(statement)).rows as Row[];
  });
}

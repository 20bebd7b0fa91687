import type { Verdict } from "@parley/bot-rules/moderation";
import { type Database, invalid, sqlState } from "@parley/service-kit";
import { HISTORY_CHARACTERS } from "./budget.ts";
import { historySql } from "./history.store.ts";
import type { Exchange } from "./prompt.ts";

export type NewTurn = {
  workspaceId: string;
  turnId: string;
  sessionId: string;
  botId: string;
  edgeId: string;
  source: string;
  visitorId: string;
  /** JSON text of an object; empty to keep what is stored. */
  visitorMetadata: string;
  referrer: string;
  userAgent: string;
  message: string;
  /** The bot's model; empty for the installation's default. */
  model: string;
  chunkIds: readonly number[];
  /** Set when the message is not to be answered; the turn is then stored as closed. */
  blocked: Verdict | undefined;
};

export type OpenedTurn = {
  messageId: number;
  history: Exchange[];
  /** The database's clock, in microseconds since 1970. */
  databaseTimeMicroseconds: number;
};

const DATABASE_TIME = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS "databaseTimeMicroseconds"`;

type OpenedRow = Omit<OpenedTurn, "history"> & { exchanges: [string, string][] | null };

// The session's upsert locks its row, and only then are the ids taken and the clock is read, so that ids and times of one session
// rise together. A turn that is there already writes nothing; one that comes up beside us fails on the turn's key and takes the
// whole statement back.
const OPEN_TURN = `
  WITH session AS (
    INSERT INTO conversation.sessions AS s (
      workspace_id, session_id, bot_id, source, visitor_id, visitor_metadata, referrer, user_agent, started_at, last_activity_at
    )
    SELECT $1, $3::uuid, $4::uuid, $6, $7, coalesce(nullif($8, ''), '{}')::jsonb, $9, $10, clock_timestamp(), clock_timestamp()
    WHERE NOT EXISTS (SELECT FROM conversation.turns t WHERE t.workspace_id = $1 AND t.turn_id = $2)
    ON CONFLICT (workspace_id, session_id) DO UPDATE
      SET visitor_id = coalesce(nullif(excluded.visitor_id, ''), s.visitor_id),
          visitor_metadata = CASE WHEN $8 = '' THEN s.visitor_metadata ELSE excluded.visitor_metadata END,
          last_activity_at = greatest(s.last_activity_at, clock_timestamp())
      WHERE s.bot_id = excluded.bot_id AND s.source = excluded.source AND s.deleted_at IS NULL AND s.erased_at IS NULL
    RETURNING s.xmax = 0 AS is_new
  ), opened AS (
    SELECT nextval('conversation.message_ids') AS question_id, clock_timestamp() AS at, is_new FROM session
  ), turn AS (
    INSERT INTO conversation.turns (
      workspace_id, turn_id, session_id, message_id, bot_id, edge_id, status, asked_model, model, blocked_reason, opened_at, closed_at
    )
    SELECT $1, $2, $3, question_id + 1, $4, $5, $13, $12, $12, $14, at, CASE WHEN $13 = 'streaming' THEN NULL ELSE at END
    FROM opened
  ), message AS (
    INSERT INTO conversation.messages (
      workspace_id, session_id, message_id, turn_id, role, content, model, status, rag_chunks_used, created_at
    )
    SELECT $1, $3, question_id, $2, 'user', $11, '', 'done', '{}'::bigint[], at FROM opened
    UNION ALL
    SELECT $1, $3, question_id + 1, $2, 'assistant', $15, $12, $13, $16::bigint[], at FROM opened
  )
  SELECT opened.question_id + 1 AS "messageId", history.exchanges, ${DATABASE_TIME}
  FROM opened
  LEFT JOIN LATERAL (
    ${historySql({ workspace: "$1", session: "$3", question: "opened.question_id", before: "opened.at", characters: "$17" })}
  ) history
    ON $13 = 'streaming' AND NOT opened.is_new`;

const UNIQUE_VIOLATION = "23505";
/** Data exceptions, and a document nested too deeply. */
const UNSTORABLE = /^(22...|54001)$/;

/**
 * Stores a visitor's message, the reply still to come and the turn. Undefined, and nothing stored, when the turn exists already or the
 * session is another bot's, from another source, deleted or erased. Throws invalid_argument for metadata that the database refuses.
 */
export async function openTurn(database: Database, turn: NewTurn): Promise<OpenedTurn | undefined> {
  const { blocked } = turn;
  try {
    const { rows } = await database.query<OpenedRow>({
      name: "open_turn",
      text: OPEN_TURN,
      values: [
        turn.workspaceId,
        turn.turnId,
        turn.sessionId,
        turn.botId,
        turn.edgeId,
        turn.source,
        turn.visitorId,
        turn.visitorMetadata,
        turn.referrer,
        turn.userAgent,
        turn.message,
        turn.model,
        blocked ? "blocked" : "streaming",
        blocked?.reason,
        blocked?.fallback ?? "",
        turn.chunkIds,
        HISTORY_CHARACTERS,
      ],
    });
    const row = rows[0];
    if (row === undefined) return undefined;
    const { messageId, databaseTimeMicroseconds } = row;
    return { messageId, databaseTimeMicroseconds, history: toExchanges(row.exchanges) };
  } catch (error) {
    const state = sqlState(error);
    if (state === UNIQUE_VIOLATION) return undefined;
    // JSON has escapes and numbers that jsonb has no room for; everything else was checked before.
    if (state !== undefined && UNSTORABLE.test(state)) throw invalid("visitor_metadata holds what cannot be stored");
    throw error;
  }
}

export type StandingTurn = OpenedTurn & {
  model: string;
  message: string;
  chunkIds: number[];
  blocked: Verdict | undefined;
};

const FIND_TURN = `
  SELECT t.message_id AS "messageId", t.asked_model AS model, t.blocked_reason AS reason, answer.content AS fallback,
         answer.rag_chunks_used AS "chunkIds", question.content AS message, history.exchanges,
         ${DATABASE_TIME}
  FROM conversation.turns t
  JOIN conversation.sessions s
    ON s.workspace_id = t.workspace_id AND s.session_id = t.session_id AND s.deleted_at IS NULL AND s.erased_at IS NULL
  JOIN conversation.messages question
    ON question.workspace_id = t.workspace_id AND question.session_id = t.session_id AND question.message_id = t.message_id - 1
  JOIN conversation.messages answer
    ON answer.workspace_id = t.workspace_id AND answer.session_id = t.session_id AND answer.message_id = t.message_id
  LEFT JOIN LATERAL (
    ${historySql({ workspace: "$1", session: "t.session_id", question: "t.message_id - 1", before: "t.opened_at", characters: "$3" })}
  ) history ON t.blocked_reason IS NULL
  WHERE t.workspace_id = $1 AND t.turn_id = $2`;

type StandingRow = Omit<StandingTurn, "blocked" | "history" | "chunkIds"> & {
  reason: string | null;
  fallback: string;
  chunkIds: string[];
  exchanges: [string, string][] | null;
};

/** A turn as OpenTurn answered it the first time, whatever has become of it; undefined when there is none, or its session was deleted. */
export async function findTurn(
  database: Database,
  workspaceId: string,
  turnId: string,
): Promise<StandingTurn | undefined> {
  const { rows } = await database.query<StandingRow>(FIND_TURN, [workspaceId, turnId, HISTORY_CHARACTERS]);
  const row = rows[0];
  if (row === undefined) return undefined;
  const { messageId, databaseTimeMicroseconds, model, message, reason, fallback } = row;
  return {
    messageId,
    databaseTimeMicroseconds,
    model,
    message,
    chunkIds: row.chunkIds.map(Number),
    blocked: reason === null ? undefined : { reason, fallback },
    history: toExchanges(row.exchanges),
  };
}

function toExchanges(pairs: [string, string][] | null): Exchange[] {
  return (pairs ?? []).map(([question, answer]) => ({ question, answer }));
}

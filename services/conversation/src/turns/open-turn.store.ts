import type { Verdict } from "@parley/bot-rules/moderation";
import { isQuestion } from "@parley/bot-rules/small-talk";
import { type Database, defineStatement, invalidArgument, sqlState } from "@parley/service-kit";
import { botSlugSql, recordEventSql } from "../events/index.ts";
import { ANSWER_WITHIN, handoffSql, type StoredHandoff } from "../handoff/index.ts";
import { countRefusalSql, maxStoredRefusals, roomSql } from "../refusal-counts/index.ts";
import { mayUseSessionSql, type RequestVisitor, visitorHashSql } from "../sessions/index.ts";
import { HISTORY_CHARACTERS } from "./budget.ts";
import { historySql } from "./history.store.ts";
import { chooseMessageId } from "./message-ids.ts";
import type { Exchange } from "./prompt.ts";

export type NewTurn = RequestVisitor & {
  workspaceId: string;
  turnId: string;
  sessionId: string;
  botId: string;
  edgeId: string;
  source: string;
  /** A JSON object as text. If empty, the stored metadata stays. */
  visitorMetadata: string;
  referrer: string;
  userAgent: string;
  message: string;
  /** Empty for the installation's default. */
  model: string;
  chunkIds: readonly number[];
  /** Whether the reply is based on a passage, or on an answer that the bot's owner has written. */
  isGrounded: boolean;
  /** Set if a moderation pattern matched the message. The turn is then stored as closed. */
  blocked: Verdict | undefined;
  /** Undefined, like `requestHash`, for a turn without an idempotency key. */
  keyHash: Uint8Array | undefined;
  requestHash: Uint8Array | undefined;
  /** The version of the bot's consent that the visitor agrees to; undefined to keep the session's. */
  consentVersion: string | undefined;
};

export type OpenedTurn = {
  messageId: number;
  history: Exchange[];
  /** The database's clock, in microseconds since 1970. */
  databaseTimeMicroseconds: number;
};

/** How many turns with an idempotency key may run in a session at the same time. Concurrent OpenTurn calls can open more. */
export const MAX_RUNNING_KEYED_TURNS = 2;

const DATABASE_TIME = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS "databaseTimeMicroseconds"`;

/**
 * SQL condition in openTurnSql's update: the turn's visitor id replaces another one. A session without an id becomes the visitor's, and a turn
 * without an id keeps the session's.
 */
const REPLACES_VISITOR = "(excluded.visitor_id <> '' AND s.visitor_id <> '' AND excluded.visitor_id <> s.visitor_id)";

/**
 * SQL condition in openTurnSql's update: the session keeps its consent, with the time of the first message that had it. It loses the consent of
 * another visitor.
 */
const KEEPS_CONSENT = `((excluded.consent_version IS NULL OR excluded.consent_version = s.consent_version) AND NOT ${REPLACES_VISITOR})`;

const EVENT_DATA = `'bot_slug', ${botSlugSql(":workspaceId", ":botId::uuid")}, 'session_id', :sessionId::uuid, 'source', :source::text`;

/** A session's first turn inserts its row with two messages. */
const RECORD_STARTED = recordEventSql({
  source: "opened",
  where: "message_count = 2",
  workspace: ":workspaceId",
  type: "'conversation.started'",
  session: ":sessionId::uuid",
  data: `jsonb_build_object(${EVENT_DATA})`,
});

const RECORD_BLOCKED = recordEventSql({
  source: "opened",
  workspace: ":workspaceId",
  type: "'message.blocked'",
  session: ":sessionId::uuid",
  data: `jsonb_build_object(${EVENT_DATA}, 'message_id', user_message_id + 1, 'turn_id', :turnId::uuid, 'reason', :blockedReason::text)`,
});

type OpenedRow = Omit<OpenedTurn, "history"> & { exchanges: [string, string][] | null };

// - The upsert locks the session's row. The clock is read after that, so that within a session a higher message id has a later time.
// - The first reply of a session has the id :firstReplyId. Each later one has the last reply's id plus :replyIdStep.
// - If the visitor's id changes from one to another, the new visitor's prompts begin here, and session_visitors gets the replaced id.
//   In the playground, the id is a member's, and the members share the session's history.
// - grounded is NULL if the message asks nothing (:isQuestion), because a reply to a greeting needs no knowledge.
// - `keep` returns the SQL of a text that the visitor sent, given its parameter.
// - If the session waits for a person or has one, only the statement with `isHandoff` stores the turn: without a reply, and closed. Otherwise
//   only the others do. The locked row decides, so that a message and a takeover have one winner.
export const openTurnSql = ({
  before = "",
  after = "",
  keep = (parameter: string) => parameter,
  isHandoff = false,
} = {}) => `
  WITH ${before} session AS (
    INSERT INTO conversation.sessions AS s (
      workspace_id, session_id, bot_id, source, visitor_id, visitor_verified, visitor_metadata, referrer, user_agent, started_at, last_activity_at,
      last_message_id, message_count, consent_version, consented_at
    )
    SELECT :workspaceId, :sessionId::uuid, :botId::uuid, :source, :visitorId, :visitorVerified::boolean, coalesce(nullif(${keep(":visitorMetadata")}, ''), '{}')::jsonb, ${keep(":referrer")}, ${keep(":userAgent")}, started.at, started.at, :firstReplyId::bigint, 2, :consentVersion::text, CASE WHEN :consentVersion::text IS NOT NULL THEN started.at END
    FROM (SELECT clock_timestamp() AS at) started
    WHERE NOT EXISTS (SELECT FROM conversation.turns t WHERE t.workspace_id = :workspaceId AND t.turn_id = :turnId)
      AND NOT EXISTS (SELECT FROM conversation.turns t WHERE t.workspace_id = :workspaceId AND t.session_id = :sessionId AND t.key_hash = :keyHash::bytea)
      AND (:keyHash::bytea IS NULL OR (
        SELECT count(*) FROM conversation.turns t
        WHERE t.workspace_id = :workspaceId AND t.session_id = :sessionId AND t.status = 'streaming' AND t.key_hash IS NOT NULL
      ) < ${MAX_RUNNING_KEYED_TURNS})
      ${isHandoff ? "AND EXISTS (SELECT FROM conversation.sessions h WHERE h.workspace_id = :workspaceId AND h.session_id = :sessionId AND h.handoff_state IS NOT NULL)" : ""}
    ON CONFLICT (workspace_id, session_id) DO UPDATE
      SET visitor_id = coalesce(nullif(excluded.visitor_id, ''), s.visitor_id),
          visitor_verified = s.visitor_verified OR excluded.visitor_verified,
          visitor_metadata = CASE
            WHEN ${keep(":visitorMetadata")} <> '' OR (${REPLACES_VISITOR} AND s.source = 'widget') THEN excluded.visitor_metadata
            ELSE s.visitor_metadata
          END,
          consent_version = CASE WHEN ${KEEPS_CONSENT} THEN s.consent_version ELSE excluded.consent_version END,
          consented_at = CASE WHEN ${KEEPS_CONSENT} THEN s.consented_at ELSE excluded.consented_at END,
          message_count = s.message_count + ${isHandoff ? 1 : 2},
          last_activity_at = greatest(s.last_activity_at, clock_timestamp()),
          ${isHandoff ? `handoff_expires_at = coalesce(s.handoff_expires_at, clock_timestamp() + ${ANSWER_WITHIN}),` : ""}
          (last_message_id, visitor_since, replaced_visitor) = (
            SELECT reply.id,
                   CASE WHEN ${REPLACES_VISITOR} THEN reply.id - 1 ELSE s.visitor_since END,
                   CASE WHEN ${REPLACES_VISITOR} THEN ${visitorHashSql("s.visitor_id")} ELSE s.replaced_visitor END
            FROM (SELECT s.last_message_id + :replyIdStep::integer AS id) reply
          )
      WHERE s.bot_id = excluded.bot_id AND s.source = excluded.source AND s.deleted_at IS NULL AND s.erased_at IS NULL
        AND ${mayUseSessionSql("excluded.visitor_id", "excluded.visitor_verified")} AND s.handoff_state IS ${isHandoff ? "NOT NULL" : "NULL"}
    RETURNING s.last_message_id, s.visitor_since, s.replaced_visitor, s.message_count${isHandoff ? `, s.workspace_id, ${handoffSql()} AS handoff` : ""}
  ), opened AS (
    SELECT last_message_id - 1 AS user_message_id, message_count${isHandoff ? ", workspace_id, handoff" : ""}, CASE WHEN :source = 'widget' THEN visitor_since END AS history_start,
           replaced_visitor, visitor_since = last_message_id - 1 AS replaces_visitor, clock_timestamp() AS at
    FROM session
  ), replaced AS (
    INSERT INTO conversation.session_visitors (workspace_id, session_id, visitor_hash, replaced_at)
    SELECT :workspaceId, :sessionId, replaced_visitor, at FROM opened WHERE replaces_visitor
    ON CONFLICT (workspace_id, session_id, visitor_hash) DO UPDATE SET replaced_at = excluded.replaced_at
  ), turn AS (
    INSERT INTO conversation.turns (
      workspace_id, turn_id, session_id, message_id, bot_id, edge_id, status, asked_model, model, blocked_reason, opened_at, closed_at,
      key_hash, request_hash, grounded, history_start
    )
    SELECT :workspaceId, :turnId, :sessionId, user_message_id + 1, :botId, :edgeId, :status, :model, :model, :blockedReason, at, CASE WHEN :status = 'streaming' THEN NULL ELSE at END,
           :keyHash::bytea, :requestHash::bytea, CASE WHEN :isQuestion::boolean THEN :isGrounded::boolean END, history_start
    FROM opened
  ), message AS (
    INSERT INTO conversation.messages (
      workspace_id, session_id, message_id, turn_id, role, content, model, status, rag_chunks_used, created_at
    )
    SELECT :workspaceId, :sessionId, user_message_id, :turnId, 'user', ${keep(":message")}, '', 'done', '{}'::bigint[], at FROM opened
    ${isHandoff ? "" : "UNION ALL SELECT :workspaceId, :sessionId, user_message_id + 1, :turnId, 'assistant', :reply, :model, :status, :chunkIds::bigint[], at FROM opened"}
  ), started AS (${RECORD_STARTED}) ${after}
  ${isHandoff ? SELECT_HANDOFF_TURN : SELECT_TURN_WITH_HISTORY}`;

const SELECT_HANDOFF_TURN = `SELECT opened.user_message_id + 1 AS "messageId", opened.handoff FROM opened WHERE opened.workspace_id = :workspaceId`;

const SELECT_TURN_WITH_HISTORY = `
  SELECT opened.user_message_id + 1 AS "messageId", history.exchanges, ${DATABASE_TIME}
  FROM opened
  LEFT JOIN LATERAL (
    ${historySql({
      workspace: ":workspaceId",
      session: ":sessionId",
      messageId: "opened.user_message_id",
      start: "opened.history_start",
      closedBefore: "opened.at",
      maxCharacters: ":historyCharacters",
    })}
  ) history
    ON :status = 'streaming'`;

type OpenValues = Omit<NewTurn, "blocked"> & {
  status: "streaming" | "blocked";
  blockedReason: string | undefined;
  reply: string;
  historyCharacters: number;
  firstReplyId: bigint;
  replyIdStep: number;
  isQuestion: boolean;
  maxRefusals: number;
};

const openStatement = defineStatement<OpenValues>("open_turn", openTurnSql());

const REFUSAL = { workspace: ":workspaceId", outcome: ":status", max: ":maxRefusals::integer" };

// Above the limit of refusals, the statement stores no text of the visitor. It stores the fallback, which a repeated call must return.
const openBlockedStatement = defineStatement<OpenValues>(
  "open_blocked_turn",
  openTurnSql({
    before: `${roomSql(REFUSAL)},`,
    after: `, ${countRefusalSql(REFUSAL, "opened")}, blocked_event AS (${RECORD_BLOCKED})`,
    keep: (parameter) => `CASE WHEN (SELECT keeps_texts FROM room) THEN ${parameter}::text ELSE '' END`,
  }),
);

const UNIQUE_VIOLATION = "23505";
const MESSAGE_ID_INDEX = "turns_message_id";
/** SQLSTATEs of class 22 (data exceptions), and statement_too_complex for JSON that is nested too deeply. */
const UNSTORABLE = /^(22...|54001)$/;

/**
 * Stores a turn, the visitor's message and the reply: the fallback if the turn is blocked, otherwise an empty text. Returns undefined and
 * stores nothing if
 * - the turn, or another turn with its key, exists;
 * - the turn has a key, and MAX_RUNNING_KEYED_TURNS turns with a key are running in the session;
 * - the session has another bot or source, or was deleted or erased, or the visitor may not use it;
 * - the session waits for a person or has one: see openHandoffTurn.
 *
 * Throws invalid_argument if the database refuses the visitor's metadata.
 */
export async function openTurn(
  database: Database,
  turn: NewTurn,
  chooseId = chooseMessageId,
): Promise<OpenedTurn | undefined> {
  const { blocked } = turn;
  const { start, step } = chooseId();
  try {
    const open = blocked ? openBlockedStatement : openStatement;
    const { rows } = await database.query<OpenedRow>(
      open({
        ...turn,
        status: blocked ? "blocked" : "streaming",
        blockedReason: blocked?.reason,
        reply: blocked?.fallback ?? "",
        historyCharacters: HISTORY_CHARACTERS,
        firstReplyId: start,
        replyIdStep: step,
        isQuestion: isQuestion(turn.message),
        maxRefusals: maxStoredRefusals("blocked"),
      }),
    );
    const row = rows[0];
    if (row === undefined) return undefined;
    const { messageId, databaseTimeMicroseconds } = row;
    return { messageId, databaseTimeMicroseconds, history: toExchanges(row.exchanges) };
  } catch (error) {
    if (isMessageIdTaken(error)) return openTurn(database, turn, chooseId);
    if (isUniqueViolation(error)) return undefined;
    throw toOpenError(error);
  }
}

/** Whether another session of the workspace has the message id by chance: choose another one. */
export function isMessageIdTaken(error: unknown): boolean {
  return isUniqueViolation(error) && (error as { constraint?: string }).constraint === MESSAGE_ID_INDEX;
}

/** Unless the message id is taken: whether a concurrent call has opened the turn, or another turn with its key. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === UNIQUE_VIOLATION;
}

/** jsonb refuses some escapes and numbers of valid JSON. The caller has checked all other values. */
export function toOpenError(error: unknown): unknown {
  if (!UNSTORABLE.test(sqlState(error) ?? "")) return error;
  return invalidArgument("visitor_metadata has an escape, a number or a depth that PostgreSQL cannot store");
}

/** The stored turn of a repeated OpenTurn call. */
export type RepeatedTurn = OpenedTurn & {
  model: string;
  message: string;
  chunkIds: number[];
  blocked: Verdict | undefined;
  /** Set for a turn of openHandoffTurn: the state of its session now. */
  handoff: StoredHandoff | undefined;
};

const FIND_OPENED_TURN = `
  SELECT t.message_id AS "messageId", t.asked_model AS model, t.blocked_reason AS reason, coalesce(reply.content, '') AS fallback,
         coalesce(reply.rag_chunks_used, '{}') AS "chunkIds", message.content AS message, history.exchanges,
         CASE WHEN t.status = 'handoff' THEN ${handoffSql()} END AS handoff, ${DATABASE_TIME}
  FROM conversation.turns t
  JOIN conversation.sessions s
    ON s.workspace_id = t.workspace_id AND s.session_id = t.session_id AND s.deleted_at IS NULL AND s.erased_at IS NULL
  JOIN conversation.messages message
    ON message.workspace_id = t.workspace_id AND message.session_id = t.session_id AND message.message_id = t.message_id - 1
  LEFT JOIN conversation.messages reply
    ON reply.workspace_id = t.workspace_id AND reply.session_id = t.session_id AND reply.message_id = t.message_id
  LEFT JOIN LATERAL (
    ${historySql({
      workspace: "$1",
      session: "t.session_id",
      messageId: "t.message_id - 1",
      start: "t.history_start",
      closedBefore: "t.opened_at",
      maxCharacters: "$3",
    })}
  ) history ON t.blocked_reason IS NULL AND t.status <> 'handoff'
  WHERE t.workspace_id = $1 AND t.turn_id = $2`;

type RepeatedRow = Omit<RepeatedTurn, "blocked" | "history" | "chunkIds" | "handoff"> & {
  handoff: StoredHandoff | null;
  reason: string | null;
  fallback: string;
  chunkIds: string[];
  exchanges: [string, string][] | null;
};

/**
 * Returns a turn as OpenTurn first stored it, even if it was closed since. Exception: a turn whose reply was blocked later is returned as
 * blocked. Returns undefined if there is no such turn, or if its session was deleted or erased.
 */
export async function findOpenedTurn(
  database: Database,
  workspaceId: string,
  turnId: string,
): Promise<RepeatedTurn | undefined> {
  const { rows } = await database.query<RepeatedRow>(FIND_OPENED_TURN, [workspaceId, turnId, HISTORY_CHARACTERS]);
  const row = rows[0];
  if (row === undefined) return undefined;
  const { messageId, databaseTimeMicroseconds, model, message, reason, fallback } = row;
  return {
    messageId,
    databaseTimeMicroseconds,
    model,
    message,
    chunkIds: row.chunkIds.map(Number),
    handoff: row.handoff ?? undefined,
    blocked: reason === null ? undefined : { reason, fallback },
    history: toExchanges(row.exchanges),
  };
}

function toExchanges(pairs: [string, string][] | null): Exchange[] {
  return (pairs ?? []).map(([message, reply]) => ({ message, reply }));
}

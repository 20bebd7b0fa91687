import {
  type FinishDetail,
  type Outcome,
  type SettleOutcomeName,
  type TurnStatus,
  toSettleOutcomeSql,
} from "@parley/rpc/outcomes";
import { type Database, defineStatement, SHARD_NUMBER } from "@parley/service-kit";
import { botSlugSql, recordEventSql } from "../events/index.ts";
import { countRefusalSql, isRefusal, maxStoredRefusals, roomSql } from "../refusal-counts/index.ts";
import type { ToolUse } from "./tool-use.ts";

/** The outcome that the quota service gets for a closed turn. */
export type Settlement = {
  workspaceId: string;
  turnId: string;
  outcome: SettleOutcomeName;
  /** The UTC month of the turn's reservation, "YYYY-MM". Always set if the outcome is `done`. */
  month: string | null;
  /** The UTC day of the hold of an unpaid reply, "YYYY-MM-DD"; null for all other turns. */
  unpaidDay: string | null;
};

/** A settlement in the outbox of a shard. */
export type QueuedSettlement = Settlement & { shard: number };

/** Passes turns to the settler, so that they do not wait for its next poll of the outbox. Their outbox rows must be committed. */
export type NotifySettler = (closed: readonly QueuedSettlement[]) => void;

/** A row of SELECT_CLOSED_TURNS. `model` is the model that CloseTurn's request named, or else the model that openTurn stored. */
export type ClosedTurn = QueuedSettlement & { model: string; sessionId: string; botId: string };

export type TurnResult = { outcome: Outcome; model: string; tokensIn: number; tokensOut: number; latencyMs: number };

/** `errorCode` is empty unless the outcome is `error`. */
export type ClosedTurnResult = TurnResult & { errorCode: string };

/** The input of closeTurn. */
export type Closing = TurnResult & {
  workspaceId: string;
  turnId: string;
  content: string;
  firstTokenMs: number;
  errorCode: string;
  month: string | undefined;
  phases: readonly { name: string; microseconds: number }[];
  toolsCalled: readonly ToolUse[];
  /** Set only if the reply was blocked. */
  blockedReason: string | undefined;
  /** After this time, closeTurn does nothing. By the database's clock, in microseconds since 1970; undefined for no limit. */
  deadlineMicroseconds: number | undefined;
  /** Set only if the workspace had reached its cap. */
  quota: QuotaUsage | undefined;
  /** The chunks that the reply cites, and the sources that the visitor sees below it. */
  chunksCited: readonly number[];
  sources: readonly MessageSource[];
  /** How often readers reconnected to the reply while it was running. */
  reconnects: number;
  /** Empty unless the outcome is `done`. */
  finishDetail: FinishDetail;
  /** As in Settlement. */
  unpaidDay: string | undefined;
};

/** A source of a reply, in the form of the column `sources`. `url` is absent if the document is not a public page. */
export type MessageSource = { number: number; title: string; url?: string };

/** Longer than the 10 s for which a statement may run. A statement that began to open or close a turn this long ago has committed or failed. */
export const LONGEST_TRANSACTION_SECONDS = 15;

/** The usage of a workspace at its cap. Stored in the column `ending` under the key `quota`. */
export type QuotaUsage = { plan: string; used: number; cap: number };

/**
 * CTEs that store the reply and the settlement of closed turns. Every statement that closes turns must use them, and must define the CTE
 * `closed`: the rows of conversation.turns that it closed, plus the reply's `content`, `tools_called`, `chunks_cited` and `sources`. It must close only
 * streaming turns, so that the first outcome wins.
 */
export const RECORD_CLOSED_TURNS = `
  message AS (
    UPDATE conversation.messages m
    SET status = c.status, content = c.content, model = c.model, tokens_in = c.tokens_in, tokens_out = c.tokens_out,
        latency_ms = c.latency_ms, error_message = c.error_code, tools_called = c.tools_called, chunks_cited = c.chunks_cited,
        sources = c.sources, closed_at = c.closed_at
    FROM closed c
    WHERE m.workspace_id = c.workspace_id AND m.session_id = c.session_id AND m.message_id = c.message_id
  ), settlement AS (
    INSERT INTO conversation.outbox (workspace_id, turn_id, outcome, month, unpaid_day, created_at)
    SELECT workspace_id, turn_id, ${toSettleOutcomeSql("status")}, month, unpaid_day, closed_at FROM closed
    RETURNING workspace_id, turn_id, outcome, month, unpaid_day
  )`;

/** The columns of `closed` for a turn without a reply. */
export const WITHOUT_REPLY =
  "'' AS content, '[]'::jsonb AS tools_called, '{}'::bigint[] AS chunks_cited, '[]'::jsonb AS sources";

/**
 * A CTE for statements that close turns which an edge may still be running. RenewEdge returns these turns to that edge, which then ends them. The
 * statement must define the CTE `closed`.
 */
export const RECORD_CLOSED_TURNS_FOR_EDGE = `
  closed_for_edge AS (
    INSERT INTO conversation.closed_turns (workspace_id, turn_id, edge_id, closed_at)
    SELECT workspace_id, turn_id, edge_id, closed_at FROM closed
  )`;

/** Returns a ClosedTurn for each turn that RECORD_CLOSED_TURNS stored. */
export const SELECT_CLOSED_TURNS = `
  SELECT s.workspace_id AS "workspaceId", s.turn_id AS "turnId", s.outcome, to_char(s.month, 'YYYY-MM') AS month,
         to_char(s.unpaid_day, 'YYYY-MM-DD') AS "unpaidDay", c.model, c.session_id AS "sessionId", c.bot_id AS "botId",
         ${SHARD_NUMBER} AS shard
  FROM settlement s JOIN closed c USING (workspace_id, turn_id)`;

/** The event of a closed turn. Other outcomes than done and blocked are no events. */
const RECORD_EVENT = recordEventSql({
  source: "closed c",
  where: "c.status IN ('done', 'blocked')",
  workspace: ":workspaceId",
  type: "CASE c.status WHEN 'done' THEN 'message.completed' ELSE 'message.blocked' END",
  session: "c.session_id",
  data: `jsonb_strip_nulls(jsonb_build_object(
      'bot_slug', ${botSlugSql(":workspaceId", "c.bot_id")}, 'session_id', c.session_id, 'message_id', c.message_id, 'turn_id', c.turn_id,
      'source', (SELECT s.source FROM conversation.sessions s WHERE s.workspace_id = :workspaceId AND s.session_id = c.session_id),
      'model', c.model, 'tokens_in', c.tokens_in, 'tokens_out', c.tokens_out, 'latency_ms', c.latency_ms, 'reason', c.blocked_reason
    ))`,
});

// A turn is streaming if and only if closed_at is null. The statement must not filter by status: PostgreSQL would then often choose the index of
// streaming turns, and read all streaming turns of the workspace.
const closeTurnSql = ({ before = "", from = "", content = ":content::text", after = "" } = {}) => `
  WITH ${before} closed AS (
    UPDATE conversation.turns t
    SET status = :outcome, model = coalesce(nullif(:model, ''), t.model), tokens_in = :tokensIn, tokens_out = :tokensOut, latency_ms = :latencyMs,
        first_token_ms = :firstTokenMs, error_code = :errorCode, month = to_date(:month, 'YYYY-MM'), phases = :phases, blocked_reason = :blockedReason,
        ending = :ending::jsonb, reconnects = nullif(:reconnects::integer, 0), finish_detail = nullif(:finishDetail, ''), unpaid_day = :unpaidDay::date,
        cited = nullif(cardinality(:chunksCited::bigint[]) > 0, false), closed_at = now()
    ${from}
    WHERE t.workspace_id = :workspaceId AND t.turn_id = :turnId AND t.closed_at IS NULL
      AND (:deadlineMicroseconds::bigint IS NULL OR clock_timestamp() <= to_timestamp(:deadlineMicroseconds / 1e6))
    RETURNING t.*, ${content} AS content, :toolsCalled::jsonb AS tools_called, :chunksCited::bigint[] AS chunks_cited, :sources::jsonb AS sources
  ), ${RECORD_CLOSED_TURNS}, event AS (${RECORD_EVENT}) ${after}
  ${SELECT_CLOSED_TURNS}
  WHERE c.workspace_id = :workspaceId`;

type CloseValues = Omit<Closing, "phases" | "toolsCalled" | "sources" | "quota"> & {
  phases: string;
  toolsCalled: string;
  sources: string;
  ending: string | undefined;
  maxRefusals: number;
};

const closeStatement = defineStatement<CloseValues>("close_turn", closeTurnSql());

const REFUSAL = { workspace: ":workspaceId", outcome: ":outcome", max: ":maxRefusals::integer" };

// Above the limit of refusals, the statement empties the texts of the turn, and the other texts of its session if the session began above the
// limit. It locks the session before the turn, as an erasure does.
const closeRefusedStatement = defineStatement<CloseValues>(
  "close_refused_turn",
  closeTurnSql({
    before: `${roomSql(REFUSAL)}, locked AS MATERIALIZED (
    SELECT s.session_id
    FROM room, conversation.turns t JOIN conversation.sessions s ON s.workspace_id = t.workspace_id AND s.session_id = t.session_id
    WHERE NOT room.keeps_texts AND t.workspace_id = :workspaceId AND t.turn_id = :turnId AND t.closed_at IS NULL
    FOR NO KEY UPDATE OF s
  ),`,
    from: "FROM room LEFT JOIN locked ON true",
    content: "CASE WHEN room.keeps_texts THEN :content::text ELSE '' END",
    after: `, ${countRefusalSql(REFUSAL, "closed")}, emptied_message AS (
    UPDATE conversation.messages m SET content = ''
    FROM closed c, room
    WHERE NOT room.keeps_texts AND m.workspace_id = :workspaceId AND m.session_id = c.session_id AND m.message_id = c.message_id - 1
  ), emptied_session AS (
    UPDATE conversation.sessions s SET visitor_metadata = '{}', referrer = '', user_agent = ''
    FROM closed c, room
    WHERE NOT room.keeps_texts AND s.workspace_id = :workspaceId AND s.session_id = c.session_id AND (
      SELECT m.content = '' OR m.message_id = c.message_id - 1
      FROM conversation.messages m
      WHERE m.workspace_id = :workspaceId AND m.session_id = c.session_id ORDER BY m.message_id LIMIT 1
    )
  )`,
  }),
);

/** Closes a streaming turn. Returns undefined if the turn is closed already or was never opened, or if the deadline has passed. */
export async function closeTurn(database: Database, closing: Closing): Promise<ClosedTurn | undefined> {
  const { outcome, content, phases, toolsCalled, sources, quota } = closing;
  const close = isRefusal(outcome, content) ? closeRefusedStatement : closeStatement;
  const { rows } = await database.query<ClosedTurn>(
    close({
      ...closing,
      phases: JSON.stringify(phases),
      toolsCalled: JSON.stringify(toolsCalled),
      sources: JSON.stringify(sources),
      ending: quota && JSON.stringify({ quota }),
      maxRefusals: maxStoredRefusals(outcome),
    }),
  );
  return rows[0];
}

/** Returns undefined if the turn is closed or was never opened. */
export async function findRunningTurn(
  database: Database,
  workspaceId: string,
  turnId: string,
): Promise<{ sessionId: string; botId: string } | undefined> {
  const { rows } = await database.query<{ sessionId: string; botId: string }>({
    name: "find_running_turn",
    text: `SELECT session_id AS "sessionId", bot_id AS "botId" FROM conversation.turns
           WHERE workspace_id = $1 AND turn_id = $2 AND closed_at IS NULL`,
    values: [workspaceId, turnId],
  });
  return rows[0];
}

const RECORD_TIMINGS = `
  UPDATE conversation.turns SET latency_ms = $3, phases = $4
  WHERE workspace_id = $1 AND turn_id = $2 AND status = 'blocked' AND phases IS NULL`;

/** Records the latency and the phases of a turn that OpenTurn blocked, unless the turn has them already. */
export async function recordTimings(
  database: Database,
  { workspaceId, turnId, latencyMs, phases }: Pick<Closing, "workspaceId" | "turnId" | "latencyMs" | "phases">,
): Promise<void> {
  const values = [workspaceId, turnId, latencyMs, JSON.stringify(phases)];
  await database.query({ name: "record_timings", text: RECORD_TIMINGS, values });
}

const FIND_TURN_RESULT = `
  SELECT status, model, tokens_in AS "tokensIn", tokens_out AS "tokensOut", latency_ms AS "latencyMs",
         error_code AS "errorCode", coalesce(clock_timestamp() > to_timestamp($3::bigint / 1e6), false) AS "isLate"
  FROM conversation.turns
  WHERE workspace_id = $1 AND turn_id = $2`;

/** Returns a turn's status and result, and whether the deadline has passed. Returns undefined if the turn was never opened. */
export async function findTurnResult(
  database: Database,
  workspaceId: string,
  turnId: string,
  deadlineMicroseconds?: number,
): Promise<(Omit<ClosedTurnResult, "outcome"> & { status: TurnStatus; isLate: boolean }) | undefined> {
  const { rows } = await database.query(FIND_TURN_RESULT, [workspaceId, turnId, deadlineMicroseconds]);
  return rows[0];
}

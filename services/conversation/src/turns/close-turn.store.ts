import type { Outcome, TurnStatus } from "@parley/rpc/outcomes";
import type { Database } from "@parley/service-kit";
import type { ToolUse } from "./tool-use.ts";

/** What the quota service is to be told of a turn that was closed. */
export type Settlement = {
  workspaceId: string;
  turnId: string;
  outcome: "done" | "void";
  /** The UTC month it was reserved in, "YYYY-MM"; a done turn has one. */
  month: string | null;
};

/** A turn that was closed just now; its model is the bot's own when none was asked. */
export type ClosedTurn = Settlement & { model: string };

/** What a closed turn says of itself. */
export type Metering = { outcome: Outcome; model: string; tokensIn: number; tokensOut: number; latencyMs: number };

export type Closing = Metering & {
  workspaceId: string;
  turnId: string;
  content: string;
  firstTokenMs: number;
  errorCode: string;
  /** The UTC month it was reserved in, "YYYY-MM"; a done turn has one. */
  month: string | undefined;
  phases: readonly { name: string; microseconds: number }[];
  toolsCalled: readonly ToolUse[];
  /** Why the reply was blocked; undefined unless it was. */
  blockedReason: string | undefined;
  /** When the turn can no longer be closed like this, by the database's clock, in microseconds since 1970. Undefined for no limit. */
  deadlineMicroseconds: number | undefined;
};

/**
 * What closing entails besides the turn's own row, for each statement that closes turns: its CTE `closed` holds the rows it closed,
 * with the reply's `content` and `tools_called`. Every way to close goes through the turn's row while that is `streaming`, so the first one wins.
 */
export const RECORD_CLOSED = `
  message AS (
    UPDATE conversation.messages m
    SET status = c.status, content = c.content, model = c.model, tokens_in = c.tokens_in, tokens_out = c.tokens_out,
        latency_ms = c.latency_ms, error_message = c.error_code, tools_called = c.tools_called, closed_at = c.closed_at
    FROM closed c
    WHERE m.workspace_id = c.workspace_id AND m.session_id = c.session_id AND m.message_id = c.message_id
  ), settlement AS (
    INSERT INTO conversation.outbox (workspace_id, turn_id, outcome, month, created_at)
    SELECT workspace_id, turn_id, CASE status WHEN 'done' THEN 'done' ELSE 'void' END, month, closed_at FROM closed
    RETURNING workspace_id, turn_id, outcome, month
  )`;

/** Reads what RECORD_CLOSED has recorded as rows of ClosedTurn. */
export const SELECT_CLOSED = `
  SELECT s.workspace_id AS "workspaceId", s.turn_id AS "turnId", s.outcome, to_char(s.month, 'YYYY-MM') AS month, c.model
  FROM settlement s JOIN closed c USING (workspace_id, turn_id)`;

const CLOSE_TURN = `
  WITH closed AS (
    UPDATE conversation.turns t
    SET status = $3, model = coalesce(nullif($5, ''), t.model), tokens_in = $6, tokens_out = $7, latency_ms = $8,
        first_token_ms = $9, error_code = $10, month = to_date($11, 'YYYY-MM'), phases = $12, blocked_reason = $14,
        closed_at = now()
    WHERE t.workspace_id = $1 AND t.turn_id = $2 AND t.status = 'streaming'
      AND ($15::bigint IS NULL OR clock_timestamp() <= to_timestamp($15 / 1e6))
    RETURNING t.*, $4::text AS content, $13::jsonb AS tools_called
  ), ${RECORD_CLOSED}
  ${SELECT_CLOSED}`;

/** Closes a streaming turn; undefined when it is closed already, was never opened, or the deadline has passed. */
export async function closeTurn(database: Database, closing: Closing): Promise<ClosedTurn | undefined> {
  const { rows } = await database.query<ClosedTurn>({
    name: "close_turn",
    text: CLOSE_TURN,
    values: [
      closing.workspaceId,
      closing.turnId,
      closing.outcome,
      closing.content,
      closing.model,
      closing.tokensIn,
      closing.tokensOut,
      closing.latencyMs,
      closing.firstTokenMs,
      closing.errorCode,
      closing.month,
      JSON.stringify(closing.phases),
      JSON.stringify(closing.toolsCalled),
      closing.blockedReason,
      closing.deadlineMicroseconds,
    ],
  });
  return rows[0];
}

const NOTE_TIME = `
  UPDATE conversation.turns SET latency_ms = $3, phases = $4
  WHERE workspace_id = $1 AND turn_id = $2 AND status = 'blocked' AND phases IS NULL`;

/** Adds to a turn that was blocked when it was opened where its time went; does nothing when that is known. */
export async function noteTime(
  database: Database,
  { workspaceId, turnId, latencyMs, phases }: Pick<Closing, "workspaceId" | "turnId" | "latencyMs" | "phases">,
): Promise<void> {
  const values = [workspaceId, turnId, latencyMs, JSON.stringify(phases)];
  await database.query({ name: "note_time", text: NOTE_TIME, values });
}

const FIND_METERING = `
  SELECT status, model, tokens_in AS "tokensIn", tokens_out AS "tokensOut", latency_ms AS "latencyMs",
         coalesce(clock_timestamp() > to_timestamp($3::bigint / 1e6), false) AS "isLate"
  FROM conversation.turns
  WHERE workspace_id = $1 AND turn_id = $2`;

/** What stands of a turn, and whether the deadline has passed; undefined when it was never opened. */
export async function findMetering(
  database: Database,
  workspaceId: string,
  turnId: string,
  deadlineMicroseconds?: number,
): Promise<(Omit<Metering, "outcome"> & { status: TurnStatus; isLate: boolean }) | undefined> {
  const { rows } = await database.query(FIND_METERING, [workspaceId, turnId, deadlineMicroseconds]);
  return rows[0];
}

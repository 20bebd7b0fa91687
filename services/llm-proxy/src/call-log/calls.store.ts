import type { FinishDetail } from "@parley/rpc/outcomes";
import { type Database, type Queryable, transaction } from "@parley/service-kit";

/** One attempt of a generation: an element of the column `tries`. */
export type AttemptRow = {
  model: string;
  /** From the start of the generation to the start of the attempt. */
  startedMs: number;
  queueMs: number;
  /** Whether a request was sent to the provider. */
  sent: boolean;
  /** From the start of the attempt to its first text; 0 without text. */
  firstTokenMs: number;
  latencyMs: number;
  outcome: string;
  reason: string;
  /** The step after a failed attempt: `retry`, `failover` or `end`; empty if it did not fail. */
  next: string;
  /** What the provider reported about a failure; 0 and empty if nothing. */
  providerStatus: number;
  providerCode: string;
  /** Without secrets and texts of the request. */
  providerMessage: string;
};

/** One generation: a row of the call log. `asked`, `tries` and `attempts` have the odd names of their columns. */
export type CallRow = {
  workspaceId: string;
  callId: string;
  turnId: string;
  /** The provider and the model of the last attempt. */
  provider: string;
  model: string;
  /** The requested model or route; empty for the default and for an invalid name. */
  asked: string;
  tokensIn: number;
  tokensOut: number;
  /** How many of `tokensIn` the providers read from their caches and wrote to them. */
  tokensCached: number;
  tokensCacheWritten: number;
  /** Whether Parley counted or estimated tokens, because a provider sent no counts. Also true for rows that insertMissingCalls added. */
  estimated: boolean;
  queueMs: number;
  firstTokenMs: number;
  latencyMs: number;
  /** The number of requests sent to providers. */
  attempts: number;
  failovers: number;
  outcome: string;
  reason: string;
  finishDetail: FinishDetail;
  /** A decimal; null when the model has no price. */
  cost: string | null;
  /** The number of rounds; 0 without attempts. A round is the attempts until the model calls tools or replies. */
  rounds: number;
  toolCalls: number;
  /** Time spent waiting for tools. */
  toolsMs: number;
  /** The attempts, in order. */
  tries: readonly AttemptRow[];
  /** The UTC month of the turn's reservation, "YYYY-MM"; null without a reservation. */
  month: string | null;
  /** When the generation began. */
  createdAt: Date;
};

const COLUMNS = [
  ["workspaceId", "workspace_id", "text"],
  ["callId", "call_id", "uuid"],
  ["turnId", "turn_id", "uuid"],
  ["provider", "provider", "text"],
  ["model", "model", "text"],
  ["asked", "asked", "text"],
  ["tokensIn", "tokens_in", "integer"],
  ["tokensOut", "tokens_out", "integer"],
  ["tokensCached", "tokens_cached", "integer"],
  ["tokensCacheWritten", "tokens_cache_written", "integer"],
  ["estimated", "estimated", "boolean"],
  ["queueMs", "queue_ms", "integer"],
  ["firstTokenMs", "first_token_ms", "integer"],
  ["latencyMs", "latency_ms", "integer"],
  ["attempts", "attempts", "integer"],
  ["failovers", "failovers", "integer"],
  ["outcome", "outcome", "text"],
  ["reason", "reason", "text"],
  ["finishDetail", "finish_detail", "text"],
  ["cost", "cost", "numeric"],
  ["rounds", "rounds", "integer"],
  ["toolCalls", "tool_calls", "integer"],
  ["toolsMs", "tools_ms", "integer"],
  ["tries", "tries", "jsonb"],
  ["month", "month", "text"],
  ["createdAt", "created_at", "timestamptz"],
] as const satisfies readonly (readonly [keyof CallRow, string, string])[];

// A batch is inserted again if the result of its first INSERT was lost, so existing rows are skipped. If insertMissingCalls has added a row
// for the turn, the generation's own row replaces the added row.
const INSERT = `
  WITH filled AS (
    DELETE FROM llm.calls c USING unnest($1::text[], $3::uuid[]) AS r (workspace_id, turn_id)
    WHERE c.workspace_id = r.workspace_id AND c.call_id = r.turn_id
  )
  INSERT INTO llm.calls (${COLUMNS.map(([, column]) => column).join(", ")})
  SELECT * FROM unnest(${COLUMNS.map(([, , type], index) => `$${index + 1}::${type}[]`).join(", ")})
  ON CONFLICT DO NOTHING`;

/** Idempotent. */
export async function insertCalls(database: Queryable, rows: readonly CallRow[]): Promise<void> {
  const values = COLUMNS.map(([field]) =>
    rows.map((row) => (field === "tries" ? JSON.stringify(row.tries) : row[field])),
  );
  await database.query({ name: "insert-calls", text: INSERT, values });
}

/** A complete generation whose row may be missing, with the values that the conversation service stored. */
export type CompletedCall = Pick<
  CallRow,
  | "workspaceId"
  | "turnId"
  | "provider"
  | "model"
  | "tokensIn"
  | "tokensOut"
  | "firstTokenMs"
  | "latencyMs"
  | "cost"
  | "month"
> & { closedAt: string };

const MISSING = `
  FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::integer[], $6::integer[], $7::integer[], $8::integer[], $9::numeric[],
              $10::text[], $11::timestamptz[])
    AS t (workspace_id, turn_id, provider, model, tokens_in, tokens_out, first_token_ms, latency_ms, cost, month, closed_at)
  WHERE ($12 = 0 OR t.closed_at > now() - make_interval(days => $12))
    AND NOT EXISTS (SELECT FROM llm.calls c WHERE c.workspace_id = t.workspace_id AND c.turn_id = t.turn_id)`;

const FIND_MISSING = `SELECT ${MISSING} LIMIT 1`;

// Uses the turn's id as the row's call_id. So a turn gets at most one filled row, and insertCalls can replace that row.
const FILL = `
  INSERT INTO llm.calls (
    workspace_id, call_id, turn_id, provider, model, asked, tokens_in, tokens_out, estimated, queue_ms, first_token_ms, latency_ms,
    attempts, failovers, outcome, reason, cost, month, created_at
  )
  SELECT t.workspace_id, t.turn_id, t.turn_id, t.provider, t.model, '', t.tokens_in, t.tokens_out, true, 0, t.first_token_ms, t.latency_ms,
         1, 0, 'complete', 'filled', t.cost, t.month, t.closed_at - make_interval(secs => t.latency_ms / 1000.0)
  ${MISSING}
  ON CONFLICT DO NOTHING`;

// Waits until running transactions of insertCalls end, and makes new ones wait. Otherwise a turn whose own row is not committed yet would get
// two rows.
const LOCK = "LOCK TABLE llm.calls IN SHARE ROW EXCLUSIVE MODE";

/**
 * Inserts a row for each turn without one, unless the turn closed more than `retentionDays` ago (0 for no limit). Returns the number of
 * inserted rows. Locks the table only if a row is missing.
 */
export async function insertMissingCalls(
  database: Database,
  calls: readonly CompletedCall[],
  retentionDays: number,
): Promise<number> {
  const column = <K extends keyof CompletedCall>(key: K) => calls.map((call) => call[key]);
  const values = [
    column("workspaceId"),
    column("turnId"),
    column("provider"),
    column("model"),
    column("tokensIn"),
    column("tokensOut"),
    column("firstTokenMs"),
    column("latencyMs"),
    column("cost"),
    column("month"),
    column("closedAt"),
    retentionDays,
  ];
  const { rowCount: missing } = await database.query({ name: "missing-calls", text: FIND_MISSING, values });
  if (missing === 0) return 0;
  return await transaction(database, async (connection) => {
    await connection.query(LOCK);
    const { rowCount } = await connection.query({ name: "fill-calls", text: FILL, values });
    return rowCount ?? 0;
  });
}

const SELECTED = COLUMNS.map(([field, column]) => `${column} AS "${field}"`).join(", ");

const LIST_TURN = `SELECT ${SELECTED} FROM llm.calls WHERE workspace_id = $1 AND turn_id = $2 ORDER BY created_at, call_id`;

/** Oldest first. */
export async function listCalls(database: Database, workspaceId: string, turnId: string): Promise<CallRow[]> {
  const values = [workspaceId, turnId];
  const { rows } = await database.query<CallRow>({ name: "list-calls", text: LIST_TURN, values });
  return rows;
}

/** Has microseconds since 1970, because a Date has only milliseconds. */
export type CallCursor = { createdAtMicroseconds: string; callId: string };

/**
 * Returns SQL for the start of a UTC month, given as an SQL expression for "YYYY-MM". The result does not depend on the database's time
 * zone.
 */
export function monthStartSql(month: string): string {
  return `(to_date(${month}, 'YYYY-MM')::timestamp AT TIME ZONE 'UTC')`;
}
/** Returns SQL for the end of a UTC month: the start of the next one. */
export function monthEndSql(month: string): string {
  return `((to_date(${month}, 'YYYY-MM') + interval '1 month') AT TIME ZONE 'UTC')`;
}

const LIST_MONTH = `
  SELECT ${SELECTED}, (extract(epoch FROM created_at) * 1000000)::bigint::text AS "createdAtMicroseconds"
  FROM llm.calls
  WHERE workspace_id = $1 AND created_at >= ${monthStartSql("$2")} AND created_at < ${monthEndSql("$2")}
    AND (created_at, call_id) < (coalesce('epoch'::timestamptz + $3 * interval '1 microsecond', 'infinity'), $4::uuid)
  ORDER BY created_at DESC, call_id DESC
  LIMIT $5`;

/** The greatest UUID: with the time 'infinity', the cursor of the first page. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Lists at most `limit` generations that started in a UTC month ("YYYY-MM"), newest first. With a cursor, lists only older ones. */
export async function listCallsOfMonth(
  database: Queryable,
  workspaceId: string,
  month: string,
  { before, limit }: { before: CallCursor | undefined; limit: number },
): Promise<(CallRow & CallCursor)[]> {
  const { createdAtMicroseconds = null, callId = LAST_ID } = before ?? {};
  const values = [workspaceId, month, createdAtMicroseconds, callId, limit];
  const { rows } = await database.query<CallRow & CallCursor>(LIST_MONTH, values);
  return rows;
}

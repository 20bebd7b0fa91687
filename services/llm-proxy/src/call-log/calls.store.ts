import type { Database, Queryable } from "@parley/service-kit";

/** One attempt of a generation, an element of the column `tries`. */
export type AttemptRow = {
  model: string;
  startedMs: number;
  queueMs: number;
  sent: boolean;
  firstTokenMs: number;
  latencyMs: number;
  outcome: string;
  reason: string;
  next: string;
};

/** One generation: a row of the call log, llm.calls. */
export type CallRow = {
  workspaceId: string;
  callId: string;
  turnId: string;
  /** The provider and the model of the last attempt. */
  provider: string;
  model: string;
  /** The requested model or route; empty for the default. */
  asked: string;
  tokensIn: number;
  tokensOut: number;
  estimated: boolean;
  queueMs: number;
  firstTokenMs: number;
  latencyMs: number;
  /** Requests sent to providers. */
  attempts: number;
  failovers: number;
  outcome: string;
  reason: string;
  /** A decimal; null when the model has no price. */
  cost: string | null;
  /** Times a model was prompted: once, and again after each round of tool calls. */
  rounds: number;
  toolCalls: number;
  /** Time spent waiting for tools. */
  toolsMs: number;
  /** Every attempt, in order. */
  tries: readonly AttemptRow[];
  /** The UTC month that the turn was reserved in, "YYYY-MM"; null when it was not reserved. */
  month: string | null;
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
  ["estimated", "estimated", "boolean"],
  ["queueMs", "queue_ms", "integer"],
  ["firstTokenMs", "first_token_ms", "integer"],
  ["latencyMs", "latency_ms", "integer"],
  ["attempts", "attempts", "integer"],
  ["failovers", "failovers", "integer"],
  ["outcome", "outcome", "text"],
  ["reason", "reason", "text"],
  ["cost", "cost", "numeric"],
  ["rounds", "rounds", "integer"],
  ["toolCalls", "tool_calls", "integer"],
  ["toolsMs", "tools_ms", "integer"],
  ["tries", "tries", "jsonb"],
  ["month", "month", "text"],
  ["createdAt", "created_at", "timestamptz"],
] as const satisfies readonly (readonly [keyof CallRow, string, string])[];

// A batch whose result was lost is sent again, so existing rows are skipped.
const INSERT = `
  INSERT INTO llm.calls (${COLUMNS.map(([, column]) => column).join(", ")})
  SELECT * FROM unnest(${COLUMNS.map(([, , type], index) => `$${index + 1}::${type}[]`).join(", ")})
  ON CONFLICT DO NOTHING`;

/** Inserts a batch of rows in one statement. Idempotent. */
export async function insertCalls(database: Database, rows: readonly CallRow[]): Promise<void> {
  const values = COLUMNS.map(([field]) =>
    rows.map((row) => (field === "tries" ? JSON.stringify(row.tries) : row[field])),
  );
  await database.query({ name: "insert-calls", text: INSERT, values });
}

const SELECT = `SELECT ${COLUMNS.map(([field, column]) => `${column} AS "${field}"`).join(", ")} FROM llm.calls`;

const LIST_TURN = `${SELECT} WHERE workspace_id = $1 AND turn_id = $2 ORDER BY created_at, call_id`;

/** Lists the generations of a turn, the oldest first. */
export async function listCalls(database: Database, workspaceId: string, turnId: string): Promise<CallRow[]> {
  const values = [workspaceId, turnId];
  const { rows } = await database.query<CallRow>({ name: "list-calls", text: LIST_TURN, values });
  return rows;
}

/** The key of a row, for keyset pagination. */
export type CallCursor = { createdAt: Date; callId: string };

/**
 * Returns SQL for the start of a UTC month, given as an SQL expression for "YYYY-MM". The result does not depend on the database's time
 * zone.
 */
export function monthStart(month: string): string {
  return `(to_date(${month}, 'YYYY-MM')::timestamp AT TIME ZONE 'UTC')`;
}
/** Returns SQL for the start of the month after. */
export function monthEnd(month: string): string {
  return `((to_date(${month}, 'YYYY-MM') + interval '1 month') AT TIME ZONE 'UTC')`;
}

const LIST_MONTH = `
  ${SELECT}
  WHERE workspace_id = $1 AND created_at >= ${monthStart("$2")} AND created_at < ${monthEnd("$2")}
    AND (created_at, call_id) < ($3::timestamptz, $4::uuid)
  ORDER BY created_at DESC, call_id DESC
  LIMIT $5`;

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Lists at most `limit` of a workspace's generations that started in a UTC month ("YYYY-MM") and precede the cursor, newest first. */
export async function listCallsOfMonth(
  database: Queryable,
  workspaceId: string,
  month: string,
  { before, limit }: { before: CallCursor | undefined; limit: number },
): Promise<CallRow[]> {
  const { createdAt, callId } = before ?? { createdAt: "infinity", callId: LAST_ID };
  const values = [workspaceId, month, createdAt, callId, limit];
  const { rows } = await database.query<CallRow>(LIST_MONTH, values);
  return rows;
}

import type { Database, Queryable } from "@parley/service-kit";

/** One try of a call, as its row keeps it; times in ms. */
export type TryRow = {
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

/** One row of the call ledger. */
export type CallRow = {
  workspaceId: string;
  callId: string;
  turnId: string;
  provider: string;
  model: string;
  asked: string;
  tokensIn: number;
  tokensOut: number;
  estimated: boolean;
  queueMs: number;
  firstTokenMs: number;
  latencyMs: number;
  attempts: number;
  failovers: number;
  outcome: string;
  reason: string;
  /** A decimal; null when the model has no price. */
  cost: string | null;
  /** Times that the model was asked; more than one when it called tools. */
  rounds: number;
  toolCalls: number;
  /** Time spent waiting for tools. */
  toolsMs: number;
  /** Every try, in order. */
  tries: readonly TryRow[];
  /** The UTC month its turn was reserved in, "YYYY-MM"; null when it belongs to no hold. */
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

// A batch whose answer was lost is sent again, so a row that is there already is left as it is.
const INSERT = `
  INSERT INTO llm.calls (${COLUMNS.map(([, column]) => column).join(", ")})
  SELECT * FROM unnest(${COLUMNS.map(([, , type], index) => `$${index + 1}::${type}[]`).join(", ")})
  ON CONFLICT DO NOTHING`;

/** Stores a batch of rows in one statement; rows stored before stay as they are. */
export async function insertCalls(database: Database, rows: readonly CallRow[]): Promise<void> {
  const values = COLUMNS.map(([field]) =>
    rows.map((row) => (field === "tries" ? JSON.stringify(row.tries) : row[field])),
  );
  await database.query({ name: "insert-calls", text: INSERT, values });
}

const SELECT = `SELECT ${COLUMNS.map(([field, column]) => `${column} AS "${field}"`).join(", ")} FROM llm.calls`;

const LIST_TURN = `${SELECT} WHERE workspace_id = $1 AND turn_id = $2 ORDER BY created_at, call_id`;

/** The calls of one turn, in order. */
export async function listCalls(database: Database, workspaceId: string, turnId: string): Promise<CallRow[]> {
  const values = [workspaceId, turnId];
  const { rows } = await database.query<CallRow>({ name: "list-calls", text: LIST_TURN, values });
  return rows;
}

/** A place among a workspace's calls. */
export type CallPlace = { createdAt: Date; callId: string };

/** SQL for the first moment of a UTC month that comes as "YYYY-MM", and of the one after it, whatever time zone the database keeps. */
export function monthStart(month: string): string {
  return `(to_date(${month}, 'YYYY-MM')::timestamp AT TIME ZONE 'UTC')`;
}
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

/** A workspace's calls that began in a UTC month ("YYYY-MM"), the newest first, those before a place or all; at most `limit`. */
export async function listCallsOfMonth(
  database: Queryable,
  workspaceId: string,
  month: string,
  { before, limit }: { before: CallPlace | undefined; limit: number },
): Promise<CallRow[]> {
  const { createdAt, callId } = before ?? { createdAt: "infinity", callId: LAST_ID };
  const values = [workspaceId, month, createdAt, callId, limit];
  const { rows } = await database.query<CallRow>(LIST_MONTH, values);
  return rows;
}

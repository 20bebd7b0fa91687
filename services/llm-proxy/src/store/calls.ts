import type { Database } from "@parley/service-kit";

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
  ["createdAt", "created_at", "timestamptz"],
] as const satisfies readonly (readonly [keyof CallRow, string, string])[];

// A batch whose answer was lost is sent again, so a row that is there already is left as it is.
const INSERT = `
  INSERT INTO llm.calls (${COLUMNS.map(([, column]) => column).join(", ")})
  SELECT * FROM unnest(${COLUMNS.map(([, , type], index) => `$${index + 1}::${type}[]`).join(", ")})
  ON CONFLICT DO NOTHING`;

/** Stores a batch of rows in one statement; rows stored before stay as they are. */
export async function insertCalls(database: Database, rows: readonly CallRow[]): Promise<void> {
  const values = COLUMNS.map(([field]) => rows.map((row) => row[field]));
  await database.query({ name: "insert-calls", text: INSERT, values });
}

const LIST = `
  SELECT ${COLUMNS.map(([field, column]) => `${column} AS "${field}"`).join(", ")}
  FROM llm.calls
  WHERE workspace_id = $1 AND turn_id = $2
  ORDER BY created_at, call_id`;

/** The calls of one turn, in order. */
export async function listCalls(database: Database, workspaceId: string, turnId: string): Promise<CallRow[]> {
  const { rows } = await database.query<CallRow>({ name: "list-calls", text: LIST, values: [workspaceId, turnId] });
  return rows;
}

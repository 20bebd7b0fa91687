import { type TurnStatus, toSettleOutcomeSql } from "@parley/rpc/outcomes";
import { type Database, NIL_UUID, SHARD_NUMBER, type TurnPosition } from "@parley/service-kit";
import type { QueuedSettlement } from "../turns/index.ts";

export type TurnKey = { workspaceId: string; turnId: string };

/** The columns of a done turn that the llm-proxy's call log needs. */
type DoneGeneration = {
  model: string;
  month: string;
  tokensIn: number;
  tokensOut: number;
  firstTokenMs: number;
  latencyMs: number;
};

/** A done turn. `closedAt` is RFC 3339 in UTC with microseconds. */
export type DoneTurn = TurnKey & DoneGeneration & { closedAt: string; isInOutbox: boolean; isMonthClosed: boolean };

export type TurnState = TurnKey & { status: TurnStatus; isInOutbox: boolean };

export type TurnWindow = {
  /** Empty for all workspaces. */
  workspaceId: string;
  /** RFC 3339; empty for no start. */
  since: string;
  minAgeSeconds: number;
};

const RFC3339 = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;
// A scalar subquery, because for EXISTS PostgreSQL may read the whole outbox into a hash table. After an outage the outbox is large.
const IS_IN_OUTBOX = `
  coalesce(
    (SELECT true FROM conversation.outbox o WHERE o.workspace_id = t.workspace_id AND o.turn_id = t.turn_id), false
  ) AS "isInOutbox"`;

// The row comparison seeks to the page's start in the index turns_done_closed. The window's end is a parameter, because the caller needs it too.
const LIST_DONE = `
  SELECT t.workspace_id AS "workspaceId", t.turn_id AS "turnId", to_char(t.closed_at AT TIME ZONE 'UTC', ${RFC3339}) AS "closedAt",
         t.model, to_char(t.month, 'YYYY-MM') AS month, t.tokens_in AS "tokensIn", t.tokens_out AS "tokensOut",
         t.first_token_ms AS "firstTokenMs", t.latency_ms AS "latencyMs", ${IS_IN_OUTBOX},
         EXISTS (SELECT FROM conversation.closed_months m WHERE m.month = t.month) AS "isMonthClosed"
  FROM conversation.turns t
  WHERE t.status = 'done' AND t.closed_at < $1::timestamptz AND ($2 = '' OR t.workspace_id = $2)
    AND (t.closed_at, t.workspace_id, t.turn_id) > ($3::timestamptz, $4, $5::uuid)
  ORDER BY t.closed_at, t.workspace_id, t.turn_id
  LIMIT $6`;

const FIRST_KEY = { workspaceId: "", turnId: NIL_UUID };

/** Returns a page of the window's done turns after `position`, oldest first, and the window's end by the database's clock. */
export async function listDoneTurns(
  database: Database,
  { workspaceId, since, minAgeSeconds }: TurnWindow,
  { position, limit }: { position: TurnPosition | undefined; limit: number },
): Promise<{ turns: DoneTurn[]; until: string }> {
  const { rows: ends } = await database.query<{ until: string }>(
    `SELECT to_char((now() - make_interval(secs => $1)) AT TIME ZONE 'UTC', ${RFC3339}) AS until`,
    [minAgeSeconds],
  );
  const until = ends[0]?.until ?? "";
  const after = position ?? { at: since || "-infinity", ...FIRST_KEY };
  const { rows } = await database.query<DoneTurn>({
    name: "list_done_turns",
    text: LIST_DONE,
    values: [until, workspaceId, after.at, after.workspaceId, after.turnId, limit],
  });
  return { turns: rows, until };
}

const READ_STATES = `
  SELECT t.workspace_id AS "workspaceId", t.turn_id AS "turnId", t.status, ${IS_IN_OUTBOX}
  FROM unnest($1::text[], $2::uuid[]) AS i (workspace_id, turn_id)
  JOIN conversation.turns t ON t.workspace_id = i.workspace_id AND t.turn_id = i.turn_id`;

/** Returns the states of the turns; omits turns that are not stored. */
export async function readTurnStates(database: Database, turns: readonly TurnKey[]): Promise<TurnState[]> {
  const { rows } = await database.query<TurnState>({
    name: "read_turn_states",
    text: READ_STATES,
    values: toColumns(turns),
  });
  return rows;
}

const ENQUEUE = `
  INSERT INTO conversation.outbox AS o (workspace_id, turn_id, outcome, month, unpaid_day, created_at)
  SELECT t.workspace_id, t.turn_id, ${toSettleOutcomeSql("t.status")}, t.month, t.unpaid_day, now()
  FROM unnest($1::text[], $2::uuid[]) AS i (workspace_id, turn_id)
  JOIN conversation.turns t ON t.workspace_id = i.workspace_id AND t.turn_id = i.turn_id
  WHERE t.status <> 'streaming'
  ORDER BY t.workspace_id, t.turn_id
  ON CONFLICT (workspace_id, turn_id) DO NOTHING
  RETURNING o.workspace_id AS "workspaceId", o.turn_id AS "turnId", o.outcome, to_char(o.month, 'YYYY-MM') AS month,
    to_char(o.unpaid_day, 'YYYY-MM-DD') AS "unpaidDay", ${SHARD_NUMBER} AS shard`;

/** Adds the settlements of closed turns to the outbox. Returns the added settlements. */
export async function enqueueSettlements(database: Database, turns: readonly TurnKey[]): Promise<QueuedSettlement[]> {
  const { rows } = await database.query<QueuedSettlement>({
    name: "enqueue_settlements",
    text: ENQUEUE,
    values: toColumns(turns),
  });
  return rows;
}

function toColumns(turns: readonly TurnKey[]): [string[], string[]] {
  return [turns.map((turn) => turn.workspaceId), turns.map((turn) => turn.turnId)];
}

/** Returns the months with pruned turns, as "YYYY-MM". */
export async function readPrunedMonths(database: Database): Promise<Set<string>> {
  const { rows } = await database.query<{ month: string }>(
    "SELECT DISTINCT to_char(month, 'YYYY-MM') AS month FROM conversation.turn_totals",
  );
  return new Set(rows.map(({ month }) => month));
}

/** Returns the age of the oldest done turn that was not pruned; 0 if there is none. */
export async function readOldestDoneSeconds(database: Database): Promise<number> {
  const { rows } = await database.query<{ seconds: number }>(
    `SELECT coalesce(extract(epoch FROM now() - min(closed_at)), 0)::float8 AS seconds
     FROM conversation.turns WHERE status = 'done'`,
  );
  return rows[0]?.seconds ?? 0;
}

import type { ReservationStateName, SettleOutcomeName } from "@parley/rpc/outcomes";
import { type Database, type Queryable, sqlState, transaction } from "@parley/service-kit";
import { LOCK_CLOSED_MONTHS } from "./closed-months.store.ts";

export type Reservation =
  | { status: "held"; month: string; plan: string; used: number; cap: number }
  | { status: "exceeded" | "settled"; plan: string; used: number; cap: number };

export type Settlement = { workspaceId: string; turnId: string; outcome: SettleOutcomeName; month: string | undefined };

/** `code` is "month_closed" if nothing was stored because the turn's month is closed, otherwise empty. */
export type Settled = { workspaceId: string; turnId: string; outcome: SettleOutcomeName; code: "" | "month_closed" };

// One statement. The upsert locks the usage row, so used + held < cap holds under concurrency. If two calls reserve the same turn
// concurrently, the second statement violates the primary key of quota.reservations, which also rolls back its change of the usage.
const RESERVE = `
  WITH plan AS (
    SELECT w.plan, p.monthly_cap AS cap, date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month
    FROM quota.workspaces w JOIN quota.plans p USING (plan)
    WHERE w.workspace_id = $1 AND w.deleted_at IS NULL
  ), existing AS (
    SELECT r.state, r.month FROM quota.reservations r WHERE r.workspace_id = $1 AND r.turn_id = $2
  ), added AS (
    INSERT INTO quota.usage AS u (workspace_id, month, held)
    SELECT $1, plan.month, 1 FROM plan WHERE plan.cap > 0 AND NOT EXISTS (SELECT FROM existing)
    ON CONFLICT (workspace_id, month) DO UPDATE SET held = u.held + 1
      WHERE u.used + u.held < (SELECT cap FROM plan)
    RETURNING u.month, u.used + u.held AS used
  ), held AS (
    INSERT INTO quota.reservations (workspace_id, turn_id, month, state)
    SELECT $1, $2, added.month, 'held' FROM added
  )
  SELECT plan.plan, plan.cap, existing.state,
         to_char(coalesce(added.month, existing.month), 'YYYY-MM') AS month,
         coalesce(added.used, current_usage.used, 0) AS used
  FROM plan
  LEFT JOIN existing ON true
  LEFT JOIN added ON true
  LEFT JOIN LATERAL (
    SELECT u.used + u.held AS used FROM quota.usage u WHERE u.workspace_id = $1 AND u.month = plan.month
  ) current_usage ON true`;

const UNIQUE_VIOLATION = "23505";
/**
 * Reserve and Settle both lock the usage row of the month before reservations. Settle cannot lock a usage row that a concurrent
 * Reserve is still inserting. If both then write the same turn, PostgreSQL cancels one of them with this code.
 */
const DEADLOCK = "40P01";
const LOCK_TIMEOUT = "55P03";
const MAX_ATTEMPTS = 3;

/**
 * Holds one message of the current month for a turn. Waits for the lock of the usage row, at most until the signal aborts. Returns undefined when
 * the workspace is unknown.
 */
export async function reserve(
  database: Database,
  workspaceId: string,
  turnId: string,
  signal?: AbortSignal,
): Promise<Reservation | undefined> {
  const reservation = await reserveWithRetry(database, workspaceId, turnId, signal);
  // If a concurrent call for the same turn took the last message, this turn has that hold. A second attempt returns it.
  const isHeldByOtherCall = reservation?.status === "exceeded" && (await isReserved(database, workspaceId, turnId));
  return isHeldByOtherCall ? reserveWithRetry(database, workspaceId, turnId, signal) : reservation;
}

async function reserveWithRetry(
  database: Database,
  workspaceId: string,
  turnId: string,
  signal?: AbortSignal,
): Promise<Reservation | undefined> {
  let conflicts = 0;
  for (;;) {
    try {
      return await reserveOnce(database, workspaceId, turnId);
    } catch (error) {
      const state = sqlState(error);
      // A concurrent call reserved or settled the same turn. This one wrote nothing, so a retry reads the stored state.
      const isConflict = state === UNIQUE_VIOLATION || state === DEADLOCK;
      if (state === LOCK_TIMEOUT) signal?.throwIfAborted();
      else if (!isConflict || ++conflicts === MAX_ATTEMPTS) throw error;
    }
  }
}

async function isReserved(database: Database, workspaceId: string, turnId: string): Promise<boolean> {
  const { rowCount } = await database.query({
    name: "is_reserved",
    text: "SELECT FROM quota.reservations WHERE workspace_id = $1 AND turn_id = $2",
    values: [workspaceId, turnId],
  });
  return rowCount === 1;
}

type ReserveRow = { plan: string; cap: number; state: ReservationStateName | null; month: string | null; used: number };

async function reserveOnce(database: Database, workspaceId: string, turnId: string): Promise<Reservation | undefined> {
  const { rows } = await database.query<ReserveRow>({ name: "reserve", text: RESERVE, values: [workspaceId, turnId] });
  const row = rows[0];
  if (row === undefined) return undefined;
  const { plan, cap, state, month } = row;
  const used = Math.min(row.used, cap);
  if (state === "done" || state === "void") return { status: "settled", plan, used, cap };
  if (month !== null) return { status: "held", month, plan, used, cap };
  // The statement saw the cap reached when it locked the row. Its snapshot may show an older `used`, so return the cap.
  return { status: "exceeded", plan, used: cap, cap };
}

// Locks usage rows first and reservations second, as Reserve does, each in a fixed order, to prevent deadlocks. A held turn keeps the
// month of its hold. A done turn without a hold (after a database restore) is counted in the month of its settlement. A row that this
// statement inserts has equal times; a hold is settled after it was reserved. So different times mean that the turn was held.
// A turn of a closed month is not changed, because its row may have been pruned. See LOCK_CLOSED_MONTHS.
const SETTLE = `
  WITH input AS MATERIALIZED (
    SELECT i.workspace_id, i.turn_id, i.outcome,
           coalesce(r.month, to_date(i.month, 'YYYY-MM'), date_trunc('month', now() AT TIME ZONE 'UTC')::date) AS month
    FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) AS i (workspace_id, turn_id, outcome, month)
    LEFT JOIN quota.reservations r ON r.workspace_id = i.workspace_id AND r.turn_id = i.turn_id
  ), ${LOCK_CLOSED_MONTHS}, locked AS MATERIALIZED (
    SELECT FROM (SELECT DISTINCT workspace_id, month FROM input ORDER BY workspace_id, month) i
    CROSS JOIN LATERAL (
      SELECT FROM quota.usage u WHERE u.workspace_id = i.workspace_id AND u.month = i.month FOR NO KEY UPDATE
    ) u
  ), moved AS (
    INSERT INTO quota.reservations AS r (workspace_id, turn_id, month, state, reserved_at, settled_at)
    SELECT workspace_id, turn_id, month, outcome, now(), now()
    FROM input CROSS JOIN (SELECT count(*) FROM locked) AS after_locking
    WHERE month NOT IN (SELECT month FROM closed)
    ORDER BY workspace_id, turn_id
    ON CONFLICT (workspace_id, turn_id) DO UPDATE
      SET state = excluded.state, settled_at = greatest(now(), r.reserved_at + interval '1 microsecond')
      WHERE r.state = 'held'
    RETURNING r.workspace_id, r.turn_id, r.month, r.state, r.settled_at <> r.reserved_at AS was_held
  ), change AS (
    SELECT workspace_id, month,
           count(*) FILTER (WHERE state = 'done')::integer AS counted,
           count(*) FILTER (WHERE was_held)::integer AS released
    FROM moved WHERE state = 'done' OR was_held
    GROUP BY workspace_id, month
  ), updated_usage AS (
    INSERT INTO quota.usage AS u (workspace_id, month, used)
    SELECT workspace_id, month, counted FROM change ORDER BY workspace_id, month
    ON CONFLICT (workspace_id, month) DO UPDATE
      SET used = u.used + excluded.used,
          held = u.held - (SELECT c.released FROM change c WHERE c.workspace_id = u.workspace_id AND c.month = u.month)
  ), ledger_entries AS (
    INSERT INTO quota.ledger (workspace_id, month, turn_id)
    SELECT workspace_id, month, turn_id FROM moved WHERE state = 'done'
  )
  SELECT i.workspace_id AS "workspaceId", i.turn_id AS "turnId", coalesce(m.state, r.state, 'void') AS outcome,
         CASE WHEN coalesce(m.state, r.state) IS NULL THEN 'month_closed' ELSE '' END AS code
  FROM input i
  LEFT JOIN moved m USING (workspace_id, turn_id)
  LEFT JOIN quota.reservations r USING (workspace_id, turn_id)
  WHERE coalesce(m.state, r.state, CASE WHEN i.month IN (SELECT month FROM closed) THEN 'void' END) <> 'held'`;

/** Limits each statement of a batch that was split, so that the other turns do not wait for the locked ones. */
const SPLIT_LOCK_TIMEOUT = "100ms";

export type SettleOptions = {
  /** Aborted when the caller no longer waits. The rest of a batch that was split is then not tried. */
  signal?: AbortSignal;
  /** Called with turns that cannot be settled at present. */
  onFailure?: (turns: readonly Settlement[], error: unknown) => void;
};

/**
 * Settles turns; the first outcome of a turn wins. Returns the stored outcome of each turn, or the code month_closed. These turns are
 * missing, and the caller must send them again: turns that a concurrent call is settling, turns of a workspace whose usage is locked, and turns that PostgreSQL refuses.
 */
export async function settle(
  database: Database,
  settlements: readonly Settlement[],
  options: SettleOptions = {},
): Promise<Settled[]> {
  const batch = dropRepeatedTurns(settlements);
  try {
    return await retryDeadlocks(() => settleBatch(database, batch));
  } catch (error) {
    if (!isCausedByTurn(error)) throw error;
    return settleHalves(database, batch, error, options);
  }
}

/** Settles the halves of a batch that failed, down to the turns that cannot be settled. */
async function settleHalves(
  database: Database,
  batch: readonly Settlement[],
  error: unknown,
  options: SettleOptions,
): Promise<Settled[]> {
  const halves = split(batch, error);
  if (halves === undefined) {
    options.onFailure?.(batch, error);
    return [];
  }
  const settled: Settled[] = [];
  for (const half of halves) {
    if (options.signal?.aborted) break;
    try {
      settled.push(...(await retryDeadlocks(() => settleWithShortLockTimeout(database, half))));
    } catch (failure) {
      if (!isCausedByTurn(failure)) throw failure;
      settled.push(...(await settleHalves(database, half, failure, options)));
    }
  }
  return settled;
}

/**
 * Halves a batch, ordered by workspace. Returns undefined for a single turn, and for turns of one workspace that wait for a lock, because
 * they all need the workspace's usage row.
 */
function split(batch: readonly Settlement[], error: unknown): (readonly Settlement[])[] | undefined {
  const isOneWorkspace = batch[0]?.workspaceId === batch.at(-1)?.workspaceId;
  if (batch.length === 1 || (isOneWorkspace && sqlState(error) === LOCK_TIMEOUT)) return undefined;
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)];
}

/** Whether some of the turns caused the failure: a lock timeout, or data (22) or constraints (23) that do not fit. */
function isCausedByTurn(error: unknown): boolean {
  const state = sqlState(error);
  return state === LOCK_TIMEOUT || state?.startsWith("22") === true || state?.startsWith("23") === true;
}

function settleWithShortLockTimeout(database: Database, batch: readonly Settlement[]): Promise<Settled[]> {
  return transaction(database, async (connection) => {
    await connection.query(`SET LOCAL lock_timeout = '${SPLIT_LOCK_TIMEOUT}'`);
    return settleBatch(connection, batch);
  });
}

async function settleBatch(database: Queryable, batch: readonly Settlement[]): Promise<Settled[]> {
  const values = [
    batch.map((each) => each.workspaceId),
    batch.map((each) => each.turnId),
    batch.map((each) => each.outcome),
    batch.map((each) => each.month ?? null),
  ];
  const { rows } = await database.query<Settled>({ name: "settle", text: SETTLE, values });
  return rows;
}

async function retryDeadlocks<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (sqlState(error) !== DEADLOCK || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Returns the settlements ordered by workspace, without those that repeat a turn. */
function dropRepeatedTurns(settlements: readonly Settlement[]): Settlement[] {
  const byTurn = new Map<string, Settlement>();
  for (const each of settlements) {
    const key = `${each.workspaceId} ${each.turnId}`;
    if (!byTurn.has(key)) byTurn.set(key, each);
  }
  return [...byTurn.values()].sort((a, b) =>
    a.workspaceId < b.workspaceId ? -1 : Number(a.workspaceId > b.workspaceId),
  );
}

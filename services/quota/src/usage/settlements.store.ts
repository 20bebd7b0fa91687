import type { SettleOutcomeName } from "@parley/rpc/outcomes";
import { type Database, type Queryable, sqlState, transaction, withRetry } from "@parley/service-kit";
import { LOCK_PAST_MONTHS } from "./closed-months.store.ts";

export type Settlement = {
  workspaceId: string;
  turnId: string;
  outcome: SettleOutcomeName;
  month: string | undefined;
  /** Set if the reply is unpaid: the UTC day of its hold, "YYYY-MM-DD". */
  unpaidDay?: string | undefined;
};

/** `code` is "month_closed" if nothing was stored because the turn's month is closed, otherwise empty. */
export type Settled = { workspaceId: string; turnId: string; outcome: SettleOutcomeName; code: "" | "month_closed" };

/**
 * SQLSTATE of a statement that PostgreSQL cancels to end a deadlock. Reserve and Settle both lock the month's usage row before reservations,
 * but Settle cannot lock a usage row that a concurrent Reserve is still inserting. If both then write the same turn, they deadlock.
 */
export const DEADLOCK_DETECTED = "40P01";
/** SQLSTATE of a statement that waited for a lock longer than lock_timeout. */
export const LOCK_NOT_AVAILABLE = "55P03";
export const MAX_ATTEMPTS = 3;

// - Locks: usage rows first, credits second and reservations third, as Reserve does, each in a fixed order, to prevent deadlocks.
// - Charge: a held turn is charged to the plan, a credit or the overage, as its reservation says. A turn without a hold is charged to the plan.
// - Month: a held turn keeps the month of its hold. A turn without a hold (after a database restore) gets the month that the caller sends, by
//   default the current one.
// - `was_held`: a row that this statement inserts has equal reserved_at and settled_at; a hold gets a later settled_at.
// - Unpaid replies: the usage row counts those of one day, the latest. A reply of an earlier day is not counted, because the limit of that day is
//   over.
// - Closed months: a turn of a closed month is not changed, because its row may have been pruned. See LOCK_PAST_MONTHS.
const SETTLE = `
  WITH input AS MATERIALIZED (
    SELECT i.workspace_id, i.turn_id, i.outcome, i.unpaid_day, r.credit_id,
           coalesce(r.month, to_date(i.month, 'YYYY-MM'), date_trunc('month', now() AT TIME ZONE 'UTC')::date) AS month
    FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::date[]) AS i (workspace_id, turn_id, outcome, month, unpaid_day)
    LEFT JOIN quota.reservations r ON r.workspace_id = i.workspace_id AND r.turn_id = i.turn_id
  ), ${LOCK_PAST_MONTHS}, locked AS MATERIALIZED (
    SELECT FROM (SELECT DISTINCT workspace_id, month FROM input ORDER BY workspace_id, month) i
    CROSS JOIN LATERAL (
      SELECT FROM quota.usage u WHERE u.workspace_id = i.workspace_id AND u.month = i.month FOR NO KEY UPDATE
    ) u
  ), locked_credits AS MATERIALIZED (
    SELECT FROM (
      SELECT DISTINCT workspace_id, credit_id FROM input CROSS JOIN (SELECT count(*) FROM locked) AS after_locking
      WHERE credit_id IS NOT NULL ORDER BY workspace_id, credit_id
    ) i
    CROSS JOIN LATERAL (
      SELECT FROM quota.credits c WHERE c.workspace_id = i.workspace_id AND c.credit_id = i.credit_id FOR NO KEY UPDATE
    ) c
  ), settled AS (
    INSERT INTO quota.reservations AS r (workspace_id, turn_id, month, state, unpaid_day, reserved_at, settled_at)
    SELECT workspace_id, turn_id, month, outcome,
           CASE WHEN outcome = 'void' AND date_trunc('month', unpaid_day) = month THEN unpaid_day END, now(), now()
    FROM input CROSS JOIN (SELECT count(*) FROM locked) AS after_locking CROSS JOIN (SELECT count(*) FROM locked_credits) AS after_credits
    WHERE month NOT IN (SELECT month FROM closed)
    ORDER BY workspace_id, turn_id
    ON CONFLICT (workspace_id, turn_id) DO UPDATE
      SET state = excluded.state, client = NULL, unpaid_day = excluded.unpaid_day,
          settled_at = greatest(now(), r.reserved_at + interval '1 microsecond')
      WHERE r.state = 'held'
    RETURNING r.workspace_id, r.turn_id, r.month, r.state, r.unpaid_day, r.settled_at <> r.reserved_at AS was_held, r.charge, r.credit_id
  ), change AS (
    SELECT workspace_id, month, max(unpaid_day) AS unpaid_day,
           count(*) FILTER (WHERE state = 'done')::integer AS counted,
           count(*) FILTER (WHERE was_held)::integer AS released,
           count(*) FILTER (WHERE charge = 'credit' AND state = 'done')::integer AS credit_counted,
           count(*) FILTER (WHERE charge = 'credit')::integer AS credit_released,
           count(*) FILTER (WHERE charge = 'overage' AND state = 'done')::integer AS overage_counted,
           count(*) FILTER (WHERE charge = 'overage')::integer AS overage_released
    FROM settled WHERE state = 'done' OR was_held OR unpaid_day IS NOT NULL
    GROUP BY workspace_id, month
  ), updated_usage AS (
    INSERT INTO quota.usage AS u (workspace_id, month, used, unpaid_day, unpaid)
    SELECT c.workspace_id, c.month, c.counted, c.unpaid_day,
           CASE WHEN c.unpaid_day IS NULL THEN 0
                ELSE (SELECT count(*) FROM settled s WHERE s.workspace_id = c.workspace_id AND s.unpaid_day = c.unpaid_day) END
    FROM change c ORDER BY workspace_id, month
    ON CONFLICT (workspace_id, month) DO UPDATE
      SET used = u.used + excluded.used,
          unpaid = CASE WHEN u.unpaid_day < excluded.unpaid_day THEN 0 ELSE u.unpaid END
                   + CASE WHEN u.unpaid_day > excluded.unpaid_day THEN 0 ELSE excluded.unpaid END,
          unpaid_reset = CASE WHEN u.unpaid_day < excluded.unpaid_day THEN 0 ELSE u.unpaid_reset END,
          unpaid_day = greatest(u.unpaid_day, excluded.unpaid_day),
          (held, credit_used, credit_held, overage_used, overage_held) = (
            SELECT u.held - c.released, u.credit_used + c.credit_counted, u.credit_held - c.credit_released,
                   u.overage_used + c.overage_counted, u.overage_held - c.overage_released
            FROM change c WHERE c.workspace_id = u.workspace_id AND c.month = u.month)
  ), charged_credits AS (
    UPDATE quota.credits c SET used = c.used + s.counted, held = c.held - s.released
    FROM (
      SELECT workspace_id, credit_id, count(*) FILTER (WHERE state = 'done')::integer AS counted, count(*)::integer AS released
      FROM settled WHERE credit_id IS NOT NULL GROUP BY workspace_id, credit_id
    ) s
    WHERE c.workspace_id = s.workspace_id AND c.credit_id = s.credit_id
  ), ledger_entries AS (
    INSERT INTO quota.ledger (workspace_id, month, turn_id)
    SELECT workspace_id, month, turn_id FROM settled WHERE state = 'done'
  )
  SELECT i.workspace_id AS "workspaceId", i.turn_id AS "turnId", coalesce(s.state, r.state, 'void') AS outcome,
         CASE WHEN coalesce(s.state, r.state) IS NULL THEN 'month_closed' ELSE '' END AS code
  FROM input i
  LEFT JOIN settled s USING (workspace_id, turn_id)
  LEFT JOIN quota.reservations r USING (workspace_id, turn_id)
  WHERE coalesce(s.state, r.state, CASE WHEN i.month IN (SELECT month FROM closed) THEN 'void' END) <> 'held'`;

/** The lock_timeout for the parts of a split batch. It is short, so that the other turns hardly wait for the locked ones. */
const SPLIT_LOCK_TIMEOUT = "100ms";
/**
 * Time limit for settling the parts of a split batch. If one row is locked, the attempt before the split takes 2 s (the role's lock_timeout).
 * Both times together are below the caller's deadline (5 s), so the caller gets the settled turns.
 */
const SPLIT_MS = 2_000;

export type SettleOptions = {
  /** If it is aborted, the remaining parts of a split batch are not tried. */
  signal?: AbortSignal;
  /** Called with turns that cannot be settled at present. */
  onFailure?: (turns: readonly Settlement[], error: unknown) => void;
  /** settle() calls it at most once, with the turns of a split batch that were not tried before SPLIT_MS had passed or the signal was aborted. */
  onUntried?: (turns: readonly Settlement[]) => void;
};

/**
 * Settles turns; the first outcome of a turn wins. Returns the stored outcome of each settled turn, or the code month_closed. The caller must
 * resend the turns that the result lacks. The result lacks a turn if
 * - a concurrent call is settling it,
 * - another transaction locks its workspace's usage,
 * - PostgreSQL refuses it, or
 * - its part of a split batch was not tried before SPLIT_MS had passed or the signal was aborted.
 */
export async function settle(
  database: Database,
  settlements: readonly Settlement[],
  options: SettleOptions = {},
): Promise<Settled[]> {
  const batch = sortWithoutRepeats(settlements);
  try {
    return await retryDeadlocks(() => settleBatch(database, batch));
  } catch (error) {
    if (!isCausedByTurn(error)) throw error;
    const timeout = AbortSignal.timeout(SPLIT_MS);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
    const untried: Settlement[] = [];
    const onUntried = (turns: readonly Settlement[]) => void untried.push(...turns);
    const settled = await settleParts(database, batch, error, { ...options, signal, onUntried });
    if (untried.length > 0) options.onUntried?.(untried);
    return settled;
  }
}

/** Splits a batch that failed with `error`, and settles its parts. Splits parts that fail again, until only turns that cannot be settled remain. */
async function settleParts(
  database: Database,
  batch: readonly Settlement[],
  error: unknown,
  options: SettleOptions,
): Promise<Settled[]> {
  const parts = await split(database, batch, error);
  if (parts.length === 0) options.onFailure?.(batch, error);
  const settled: Settled[] = [];
  for (const part of parts) {
    if (options.signal?.aborted) {
      options.onUntried?.(part);
      continue;
    }
    try {
      settled.push(...(await retryDeadlocks(() => settleWithShortLockTimeout(database, part))));
    } catch (failure) {
      if (!isCausedByTurn(failure)) throw failure;
      settled.push(...(await settleParts(database, part, failure, options)));
    }
  }
  return settled;
}

/**
 * Splits a batch that is ordered by workspace:
 * - For a single turn, returns no parts. After a lock timeout, also returns none for turns of one workspace, because they usually need the same
 *   usage row.
 * - After a lock timeout, the first part has the turns of all workspaces without a locked usage row. Each locked workspace is a further part,
 *   because its lock may end before that part is settled.
 * - After any other error, or if no workspace is locked any more, the parts are the batch's halves.
 */
async function split(
  database: Database,
  batch: readonly Settlement[],
  error: unknown,
): Promise<(readonly Settlement[])[]> {
  const isLockTimeout = sqlState(error) === LOCK_NOT_AVAILABLE;
  const isOneWorkspace = batch[0]?.workspaceId === batch.at(-1)?.workspaceId;
  if (batch.length === 1 || (isOneWorkspace && isLockTimeout)) return [];
  const locked = isLockTimeout ? await findLockedWorkspaces(database, batch) : new Set();
  if (locked.size > 0) {
    const unlocked = batch.filter(({ workspaceId }) => !locked.has(workspaceId));
    const lockedParts = [...locked].map((id) => batch.filter(({ workspaceId }) => workspaceId === id));
    return [unlocked, ...lockedParts].filter((part) => part.length > 0);
  }
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)];
}

const FIND_LOCKED_WORKSPACES = `
  WITH unlocked AS MATERIALIZED (
    SELECT workspace_id, month FROM quota.usage WHERE workspace_id = ANY($1) FOR NO KEY UPDATE SKIP LOCKED
  )
  SELECT DISTINCT workspace_id AS "workspaceId"
  FROM quota.usage u
  WHERE workspace_id = ANY($1)
    AND NOT EXISTS (SELECT FROM unlocked l WHERE l.workspace_id = u.workspace_id AND l.month = u.month)`;

/** Returns the ids of workspaces that have a locked usage row. Does not wait for the locks. */
async function findLockedWorkspaces(database: Database, batch: readonly Settlement[]): Promise<Set<string>> {
  const { rows } = await database.query<{ workspaceId: string }>({
    name: "find_locked_workspaces",
    text: FIND_LOCKED_WORKSPACES,
    values: [[...new Set(batch.map(({ workspaceId }) => workspaceId))]],
  });
  return new Set(rows.map(({ workspaceId }) => workspaceId));
}

/** Whether a turn of the batch caused the error: a lock timeout, or an SQLSTATE of class 22 (data exception) or 23 (violated constraint). */
function isCausedByTurn(error: unknown): boolean {
  const state = sqlState(error);
  return state === LOCK_NOT_AVAILABLE || state?.startsWith("22") === true || state?.startsWith("23") === true;
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
    batch.map((each) => each.unpaidDay ?? null),
  ];
  const { rows } = await database.query<Settled>({ name: "settle", text: SETTLE, values });
  return rows;
}

function retryDeadlocks<T>(work: () => Promise<T>): Promise<T> {
  return withRetry(work, {
    canRetry: (error, attempts) => sqlState(error) === DEADLOCK_DETECTED && attempts < MAX_ATTEMPTS,
  });
}

/** Orders by workspace, and keeps only the first settlement of each turn. */
function sortWithoutRepeats(settlements: readonly Settlement[]): Settlement[] {
  const byTurn = new Map<string, Settlement>();
  for (const each of settlements) {
    const key = `${each.workspaceId} ${each.turnId}`;
    if (!byTurn.has(key)) byTurn.set(key, each);
  }
  return [...byTurn.values()].sort((a, b) =>
    a.workspaceId < b.workspaceId ? -1 : Number(a.workspaceId > b.workspaceId),
  );
}

import { type Database, sqlState } from "@parley/service-kit";

export type Reservation =
  | { status: "held"; month: string; plan: string; used: number; cap: number }
  | { status: "exceeded" | "settled"; plan: string; used: number; cap: number };

export type Outcome = "done" | "void";

export type Settlement = { workspaceId: string; turnId: string; outcome: Outcome; month: string | undefined };

export type Settled = { workspaceId: string; turnId: string; outcome: Outcome };

// One statement. The upsert locks the usage row, so used + held < cap holds under concurrency. If two calls reserve the same turn
// concurrently, the second statement violates the primary key of quota.reservations, which also rolls back its change of the usage.
const RESERVE = `
  WITH plan AS (
    SELECT w.plan, p.monthly_cap AS cap, date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month
    FROM quota.workspaces w JOIN quota.plans p USING (plan)
    WHERE w.workspace_id = $1
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
const MAX_ATTEMPTS = 3;

/** Holds one message of the current month for a turn. Returns undefined when the workspace is unknown. */
export async function reserve(
  database: Database,
  workspaceId: string,
  turnId: string,
): Promise<Reservation | undefined> {
  const reservation = await reserveWithRetry(database, workspaceId, turnId);
  // If a concurrent call for the same turn took the last message, this turn has that hold. A second attempt returns it.
  const isHeldByOtherCall = reservation?.status === "exceeded" && (await isReserved(database, workspaceId, turnId));
  return isHeldByOtherCall ? reserveWithRetry(database, workspaceId, turnId) : reservation;
}

async function reserveWithRetry(
  database: Database,
  workspaceId: string,
  turnId: string,
): Promise<Reservation | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await reserveOnce(database, workspaceId, turnId);
    } catch (error) {
      // A concurrent call reserved or settled the same turn. This one wrote nothing, so a retry reads the stored state.
      const isConflict = sqlState(error) === UNIQUE_VIOLATION || sqlState(error) === DEADLOCK;
      if (!isConflict || attempt === MAX_ATTEMPTS) throw error;
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

type ReserveRow = { plan: string; cap: number; state: "held" | Outcome | null; month: string | null; used: number };

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
// month of its hold. A done turn without a hold (after a database restore) is counted in the month of its settlement. xmax is non-zero
// for rows that existed before this statement.
const SETTLE = `
  WITH input AS MATERIALIZED (
    SELECT i.workspace_id, i.turn_id, i.outcome,
           coalesce(r.month, to_date(i.month, 'YYYY-MM'), date_trunc('month', now() AT TIME ZONE 'UTC')::date) AS month
    FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) AS i (workspace_id, turn_id, outcome, month)
    LEFT JOIN quota.reservations r ON r.workspace_id = i.workspace_id AND r.turn_id = i.turn_id
  ), locked AS MATERIALIZED (
    SELECT FROM (SELECT DISTINCT workspace_id, month FROM input ORDER BY workspace_id, month) i
    CROSS JOIN LATERAL (
      SELECT FROM quota.usage u WHERE u.workspace_id = i.workspace_id AND u.month = i.month FOR NO KEY UPDATE
    ) u
  ), moved AS (
    INSERT INTO quota.reservations AS r (workspace_id, turn_id, month, state, settled_at)
    SELECT workspace_id, turn_id, month, outcome, now()
    FROM input CROSS JOIN (SELECT count(*) FROM locked) AS after_locking
    ORDER BY workspace_id, turn_id
    ON CONFLICT (workspace_id, turn_id) DO UPDATE SET state = excluded.state, settled_at = now() WHERE r.state = 'held'
    RETURNING r.workspace_id, r.turn_id, r.month, r.state, r.xmax <> 0 AS was_held
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
  SELECT i.workspace_id AS "workspaceId", i.turn_id AS "turnId", coalesce(m.state, r.state) AS outcome
  FROM input i
  LEFT JOIN moved m USING (workspace_id, turn_id)
  LEFT JOIN quota.reservations r USING (workspace_id, turn_id)
  WHERE coalesce(m.state, r.state) <> 'held'`;

/**
 * Settles turns; the first outcome of a turn wins. Returns the stored outcome of each turn. A turn that a concurrent call is settling
 * may be missing, and the caller must send it again.
 */
export async function settle(database: Database, settlements: readonly Settlement[]): Promise<Settled[]> {
  const unique = dropRepeatedTurns(settlements);
  const values = [
    unique.map((each) => each.workspaceId),
    unique.map((each) => each.turnId),
    unique.map((each) => each.outcome),
    unique.map((each) => each.month ?? null),
  ];
  for (let attempt = 1; ; attempt++) {
    try {
      const { rows } = await database.query<Settled>({ name: "settle", text: SETTLE, values });
      return rows;
    } catch (error) {
      if (sqlState(error) !== DEADLOCK || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

function dropRepeatedTurns(settlements: readonly Settlement[]): Settlement[] {
  const byTurn = new Map<string, Settlement>();
  for (const each of settlements) {
    const key = `${each.workspaceId} ${each.turnId}`;
    if (!byTurn.has(key)) byTurn.set(key, each);
  }
  return [...byTurn.values()];
}

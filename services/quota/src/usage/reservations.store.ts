import type { ReservationStateName } from "@parley/rpc/outcomes";
import { type Database, sqlState } from "@parley/service-kit";
import { DEADLOCK_DETECTED, LOCK_NOT_AVAILABLE, MAX_ATTEMPTS } from "./settlements.store.ts";

/** `used` is the workspace's usage of the current month, including held messages. */
export type ReserveResult =
  | { status: "held"; month: string; plan: string; used: number; cap: number }
  | { status: "exceeded" | "settled"; plan: string; used: number; cap: number };

// The upsert locks the usage row and checks the cap on the row's latest version, so concurrent calls cannot exceed the cap. If two calls reserve
// the same turn concurrently, the second statement violates the primary key of quota.reservations. PostgreSQL then also rolls back that
// statement's change of the usage row.
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
 * Holds one message of the current month for a turn. Waits for the lock of the usage row until the signal is aborted, or without limit if there
 * is no signal. Returns undefined if the workspace is unknown or deleted.
 */
export async function reserve(
  database: Database,
  workspaceId: string,
  turnId: string,
  signal?: AbortSignal,
): Promise<ReserveResult | undefined> {
  const reservation = await reserveWithRetry(database, workspaceId, turnId, signal);
  // A concurrent call for the same turn may have reserved the last message below the cap, or settled the turn. Then a second attempt returns
  // what that call stored.
  const wasStoredConcurrently =
    reservation?.status === "exceeded" && (await hasReservation(database, workspaceId, turnId));
  return wasStoredConcurrently ? reserveWithRetry(database, workspaceId, turnId, signal) : reservation;
}

async function reserveWithRetry(
  database: Database,
  workspaceId: string,
  turnId: string,
  signal?: AbortSignal,
): Promise<ReserveResult | undefined> {
  let conflicts = 0;
  for (;;) {
    try {
      return await reserveOnce(database, workspaceId, turnId);
    } catch (error) {
      const state = sqlState(error);
      // A concurrent call reserved or settled the same turn. This call wrote nothing, so a retry reads the stored state.
      const isConflict = state === UNIQUE_VIOLATION || state === DEADLOCK_DETECTED;
      if (state === LOCK_NOT_AVAILABLE) signal?.throwIfAborted();
      else if (!isConflict || ++conflicts === MAX_ATTEMPTS) throw error;
    }
  }
}

async function hasReservation(database: Database, workspaceId: string, turnId: string): Promise<boolean> {
  const { rowCount } = await database.query({
    name: "is_reserved",
    text: "SELECT FROM quota.reservations WHERE workspace_id = $1 AND turn_id = $2",
    values: [workspaceId, turnId],
  });
  return rowCount === 1;
}

type ReserveRow = { plan: string; cap: number; state: ReservationStateName | null; month: string | null; used: number };

async function reserveOnce(
  database: Database,
  workspaceId: string,
  turnId: string,
): Promise<ReserveResult | undefined> {
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

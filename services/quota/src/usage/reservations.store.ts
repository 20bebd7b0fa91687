import type { ReservationStateName } from "@parley/rpc/outcomes";
import { type Database, sqlState, withRetry } from "@parley/service-kit";
import { TODAY, UNPAID_LIMIT } from "../unpaid/index.ts";
import { DEADLOCK_DETECTED, LOCK_NOT_AVAILABLE, MAX_ATTEMPTS } from "./settlements.store.ts";

/**
 * `used` is the workspace's usage of the current month, including held messages, and `cap` the plan's messages. Both leave out credits and overage.
 * The status is `unpaid_limit` if the workspace has too many unpaid replies today, and `client_limit` if the client holds its share.
 */
export type ReserveResult =
  | { status: "held"; month: string; day: string; plan: string; used: number; cap: number }
  | { status: "exceeded" | "settled" | "unpaid_limit" | "client_limit"; plan: string; used: number; cap: number };

export type ReserveOptions = {
  /** A keyed hash of the client. Without it, or if it is empty, no share limits the turn. */
  client?: Uint8Array;
  /** Ends the wait for the lock of the usage row; without it, the wait has no limit. */
  signal?: AbortSignal;
};

/** SQL: the used and held messages that are charged to the plan. `u` is a usage row. */
const PLAN_USED = "u.used + u.held - u.credit_used - u.credit_held - u.overage_used - u.overage_held";
/** SQL: how many messages one client may hold at a time, without credits and overage. `u` is the usage row, and `plan` a CTE. */
const CLIENT_SHARE = "(SELECT quota.client_share(plan.cap - u.used, plan.unpaid_limit) FROM plan)";
const IS_AT_UNPAID_LIMIT =
  "coalesce(u.unpaid_day = (SELECT today FROM plan) AND u.unpaid - u.unpaid_reset >= (SELECT unpaid_limit FROM plan), false)";

const PLAN = `
  plan AS (
    SELECT w.plan, p.monthly_cap AS cap, p.monthly_overage AS overage, ${UNPAID_LIMIT} AS unpaid_limit, ${TODAY} AS today,
           date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month
    FROM quota.workspaces w JOIN quota.plans p USING (plan)
    WHERE w.workspace_id = $1 AND w.deleted_at IS NULL
  )`;

// The upsert locks the usage row and checks the limits on the row's latest version, so concurrent calls cannot exceed them. If two calls reserve
// the same turn concurrently, the second statement violates the primary key of quota.reservations. PostgreSQL then also rolls back that
// statement's change of the usage row. The client's holds are counted only if all holds together reach its share. `added` charges the plan. If it
// refuses the turn, and the workspace has overage or credits, `beyond` decides again with all that the workspace has left. PostgreSQL evaluates the
// conditions of `beyond` before it calls the function.
const RESERVE = `
  WITH ${PLAN}, existing AS (
    SELECT r.state, r.month, (r.reserved_at AT TIME ZONE 'UTC')::date AS day
    FROM quota.reservations r WHERE r.workspace_id = $1 AND r.turn_id = $2
  ), added AS (
    INSERT INTO quota.usage AS u (workspace_id, month, held)
    SELECT $1, plan.month, 1 FROM plan WHERE plan.cap > 0 AND NOT EXISTS (SELECT FROM existing)
    ON CONFLICT (workspace_id, month) DO UPDATE SET held = u.held + 1
      WHERE CASE WHEN ${PLAN_USED} >= (SELECT cap FROM plan) OR ${IS_AT_UNPAID_LIMIT} THEN false
                 WHEN $3::bytea IS NULL OR u.held < ${CLIENT_SHARE} THEN true
                 ELSE quota.count_client_holds($1, u.month, $3) < ${CLIENT_SHARE} END
    RETURNING u.month, ${PLAN_USED} AS used
  ), held AS (
    INSERT INTO quota.reservations (workspace_id, turn_id, month, state, client)
    SELECT $1, $2, added.month, 'held', $3 FROM added
  ), beyond AS MATERIALIZED (
    SELECT b.held_month AS month, b.plan_used AS used
    FROM plan CROSS JOIN LATERAL quota.reserve_beyond_plan($1, $2, $3, plan.unpaid_limit) b
    WHERE NOT EXISTS (SELECT FROM existing) AND NOT EXISTS (SELECT FROM added) AND (SELECT cap > 0 FROM plan)
      AND ((SELECT overage > 0 FROM plan) OR EXISTS (
        SELECT FROM quota.credits c
        WHERE c.workspace_id = $1 AND c.used < c.messages AND c.revoked_at IS NULL AND coalesce(c.expires_at > now(), true)))
  )
  SELECT plan.plan, plan.cap, existing.state,
         to_char(coalesce(added.month, beyond.month, existing.month), 'YYYY-MM') AS month,
         to_char(coalesce(existing.day, plan.today), 'YYYY-MM-DD') AS day,
         coalesce(added.used, beyond.used, current_usage.used, 0) AS used
  FROM plan
  LEFT JOIN existing ON true
  LEFT JOIN added ON true
  LEFT JOIN beyond ON true
  LEFT JOIN LATERAL (
    SELECT ${PLAN_USED} AS used FROM quota.usage u WHERE u.workspace_id = $1 AND u.month = plan.month
  ) current_usage ON true`;

// The snapshot of RESERVE may be older than the usage row that refused the turn, so a second statement finds the reason.
const FIND_REFUSAL = `
  WITH ${PLAN}
  SELECT EXISTS (SELECT FROM quota.reservations r WHERE r.workspace_id = $1 AND r.turn_id = $2) AS "isReserved",
         room.free = 0 AS "isAtCap", ${IS_AT_UNPAID_LIMIT} AS "isAtUnpaidLimit",
         $3::bytea IS NOT NULL AND quota.count_client_holds($1, plan.month, $3) >= quota.client_share(room.remaining, plan.unpaid_limit)
           AS "isAtClientLimit"
  FROM plan CROSS JOIN LATERAL quota.find_room($1, plan.month) room
  LEFT JOIN quota.usage u ON u.workspace_id = $1 AND u.month = plan.month`;

type Refusal = { isReserved: boolean; isAtCap: boolean; isAtUnpaidLimit: boolean; isAtClientLimit: boolean };

const UNIQUE_VIOLATION = "23505";

/** Holds one message of the current month for a turn. Returns undefined if the workspace is unknown or deleted. */
export async function reserve(
  database: Database,
  workspaceId: string,
  turnId: string,
  { client, signal }: ReserveOptions = {},
): Promise<ReserveResult | undefined> {
  const values = [workspaceId, turnId, client?.length ? Buffer.from(client) : null];
  for (let attempt = 1; ; attempt++) {
    const row = await reserveWithRetry(database, values, signal);
    const result = row && toResult(row);
    if (row === undefined || result !== undefined) return result;
    const { plan, cap, used } = row;
    const refusal = await findRefusal(database, values);
    if (refusal === undefined) return undefined;
    // A concurrent call may have reserved or settled the same turn, or released a message. Then another attempt finds what that call stored.
    const isStale = refusal.isReserved || !(refusal.isAtCap || refusal.isAtUnpaidLimit || refusal.isAtClientLimit);
    if (isStale && attempt < MAX_ATTEMPTS) continue;
    if (refusal.isAtCap) return { status: "exceeded", plan, used: cap, cap };
    const status = refusal.isAtUnpaidLimit ? "unpaid_limit" : "client_limit";
    return { status, plan, used: Math.min(used, cap), cap };
  }
}

async function reserveWithRetry(
  database: Database,
  values: unknown[],
  signal: AbortSignal | undefined,
): Promise<ReserveRow | undefined> {
  let conflicts = 0;
  const canRetry = (error: unknown) => {
    const state = sqlState(error);
    if (state === LOCK_NOT_AVAILABLE) {
      signal?.throwIfAborted();
      return true;
    }
    // A concurrent call reserved or settled the same turn. This call wrote nothing, so a retry reads the stored state.
    return (state === UNIQUE_VIOLATION || state === DEADLOCK_DETECTED) && ++conflicts < MAX_ATTEMPTS;
  };
  const run = () => database.query<ReserveRow>({ name: "reserve", text: RESERVE, values });
  return (await withRetry(run, { canRetry })).rows[0];
}

async function findRefusal(database: Database, values: unknown[]): Promise<Refusal | undefined> {
  const { rows } = await database.query<Refusal>({ name: "find_refusal", text: FIND_REFUSAL, values });
  return rows[0];
}

/** `month` is null if nothing is held for the turn and the turn is not settled. */
type ReserveRow = {
  plan: string;
  cap: number;
  state: ReservationStateName | null;
  month: string | null;
  day: string;
  used: number;
};

/** Returns undefined if the turn was refused. */
function toResult({ plan, cap, state, month, day, ...row }: ReserveRow): ReserveResult | undefined {
  const used = Math.min(row.used, cap);
  if (state === "done" || state === "void") return { status: "settled", plan, used, cap };
  return month === null ? undefined : { status: "held", month, day, plan, used, cap };
}

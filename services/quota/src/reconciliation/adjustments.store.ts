import type { SettleOutcomeName } from "@parley/rpc/outcomes";
import type { Database } from "@parley/service-kit";
import { LOCK_PAST_MONTHS } from "../usage/index.ts";
import type { ReservationKey } from "./reservations.store.ts";

// Locks months, then usage rows, then credits, then reservations, each in a fixed order, as Settle does. If a concurrent call has changed a reservation,
// PostgreSQL checks `state <> $3` again on the changed row, so concurrent calls store one adjustment per turn. A correction by the operator may
// have made `used` smaller than the number of done turns. So that `used` does not fall below 0, at most as many turns of the month become void as
// the plan is charged for. A turn that is charged to a credit or the overage is charged to it again, or returned to it, even if the credit has
// expired.
const ADJUST = `
  WITH input AS MATERIALIZED (
    SELECT r.workspace_id, r.turn_id, r.month, r.charge, r.credit_id
    FROM (SELECT DISTINCT workspace_id, turn_id FROM unnest($1::text[], $2::uuid[]) AS i (workspace_id, turn_id)) i
    JOIN quota.reservations r ON r.workspace_id = i.workspace_id AND r.turn_id = i.turn_id
    WHERE r.state IN ('done', 'void') AND r.state <> $3
  ), ${LOCK_PAST_MONTHS}, locked AS MATERIALIZED (
    SELECT i.workspace_id, i.month, u.plan_used FROM (SELECT DISTINCT workspace_id, month FROM input ORDER BY workspace_id, month) i
    CROSS JOIN LATERAL (
      SELECT u.used - u.credit_used - u.overage_used AS plan_used
      FROM quota.usage u WHERE u.workspace_id = i.workspace_id AND u.month = i.month FOR NO KEY UPDATE
    ) u
  ), locked_credits AS MATERIALIZED (
    SELECT FROM (
      SELECT DISTINCT workspace_id, credit_id FROM input CROSS JOIN (SELECT count(*) FROM locked) AS after_locking
      WHERE credit_id IS NOT NULL ORDER BY workspace_id, credit_id
    ) i
    CROSS JOIN LATERAL (
      SELECT FROM quota.credits c WHERE c.workspace_id = i.workspace_id AND c.credit_id = i.credit_id FOR NO KEY UPDATE
    ) c
  ), ranked AS MATERIALIZED (
    SELECT i.workspace_id, i.turn_id,
           $3 = 'done' OR i.charge IS NOT NULL
           OR row_number() OVER (PARTITION BY i.workspace_id, i.month, i.charge ORDER BY i.turn_id) <= coalesce(l.plan_used, 0) AS is_allowed
    FROM input i LEFT JOIN locked l USING (workspace_id, month)
    WHERE i.month NOT IN (SELECT month FROM closed)
  ), adjusted AS (
    UPDATE quota.reservations r SET state = $3, settled_at = now()
    FROM ranked i CROSS JOIN (SELECT count(*) FROM locked_credits) AS after_locking
    WHERE r.workspace_id = i.workspace_id AND r.turn_id = i.turn_id AND r.state IN ('done', 'void') AND r.state <> $3 AND i.is_allowed
    RETURNING r.workspace_id, r.turn_id, r.month, r.charge, r.credit_id, CASE r.state WHEN 'done' THEN 1 ELSE -1 END AS amount
  ), updated_usage AS (
    INSERT INTO quota.usage AS u (workspace_id, month, used)
    SELECT workspace_id, month, greatest(sum(amount), 0)::integer FROM adjusted GROUP BY workspace_id, month ORDER BY workspace_id, month
    ON CONFLICT (workspace_id, month) DO UPDATE
      SET (used, credit_used, overage_used) = (
        SELECT u.used + sum(a.amount), u.credit_used + coalesce(sum(a.amount) FILTER (WHERE a.charge = 'credit'), 0),
               u.overage_used + coalesce(sum(a.amount) FILTER (WHERE a.charge = 'overage'), 0)
        FROM adjusted a WHERE a.workspace_id = u.workspace_id AND a.month = u.month)
  ), charged_credits AS (
    UPDATE quota.credits c SET used = c.used + a.amount
    FROM (
      SELECT workspace_id, credit_id, sum(amount)::integer AS amount FROM adjusted WHERE credit_id IS NOT NULL GROUP BY workspace_id, credit_id
    ) a
    WHERE c.workspace_id = a.workspace_id AND c.credit_id = a.credit_id
  ), entries AS (
    INSERT INTO quota.adjustments (workspace_id, month, turn_id, amount, reason)
    SELECT workspace_id, month, turn_id, amount, $4 FROM adjusted
  )
  SELECT workspace_id AS "workspaceId", turn_id AS "turnId", true AS "isAdjusted" FROM adjusted
  UNION ALL
  SELECT workspace_id, turn_id, false FROM ranked WHERE NOT is_allowed`;

/**
 * Changes the outcome of settled turns to `outcome`, and stores an adjustment for each changed turn. Returns the changed turns, and how many turns
 * it left unchanged because their month's usage would fall below 0. Does not change turns of closed months.
 */
export async function adjustTurns(
  database: Database,
  { turns, outcome, reason }: { turns: readonly ReservationKey[]; outcome: SettleOutcomeName; reason: string },
): Promise<{ adjusted: ReservationKey[]; belowZeroCount: number }> {
  const { rows } = await database.query<ReservationKey & { isAdjusted: boolean }>({
    name: "adjust_turns",
    text: ADJUST,
    values: [turns.map((turn) => turn.workspaceId), turns.map((turn) => turn.turnId), outcome, reason],
  });
  const adjusted = rows.filter((row) => row.isAdjusted).map(({ workspaceId, turnId }) => ({ workspaceId, turnId }));
  return { adjusted, belowZeroCount: rows.length - adjusted.length };
}

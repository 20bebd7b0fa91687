import type { SettleOutcomeName } from "@parley/rpc/outcomes";
import type { Database } from "@parley/service-kit";
import { LOCK_CLOSED_MONTHS } from "../usage/index.ts";
import type { ReservationKey } from "./reservations.store.ts";

// Locks months, then usage rows, then reservations, each in a fixed order, as Settle does. After a wait for the lock, PostgreSQL checks
// `state <> $3` again, so concurrent calls store one adjustment.
const ADJUST = `
  WITH input AS MATERIALIZED (
    SELECT r.workspace_id, r.turn_id, r.month
    FROM (SELECT DISTINCT workspace_id, turn_id FROM unnest($1::text[], $2::uuid[]) AS i (workspace_id, turn_id)) i
    JOIN quota.reservations r ON r.workspace_id = i.workspace_id AND r.turn_id = i.turn_id
    WHERE r.state IN ('done', 'void') AND r.state <> $3
  ), ${LOCK_CLOSED_MONTHS}, locked AS MATERIALIZED (
    SELECT FROM (SELECT DISTINCT workspace_id, month FROM input ORDER BY workspace_id, month) i
    CROSS JOIN LATERAL (
      SELECT FROM quota.usage u WHERE u.workspace_id = i.workspace_id AND u.month = i.month FOR NO KEY UPDATE
    ) u
  ), adjusted AS (
    UPDATE quota.reservations r SET state = $3, settled_at = now()
    FROM input i CROSS JOIN (SELECT count(*) FROM locked) AS after_locking
    WHERE r.workspace_id = i.workspace_id AND r.turn_id = i.turn_id AND r.state IN ('done', 'void') AND r.state <> $3
      AND i.month NOT IN (SELECT month FROM closed)
    RETURNING r.workspace_id, r.turn_id, r.month, CASE r.state WHEN 'done' THEN 1 ELSE -1 END AS amount
  ), updated_usage AS (
    INSERT INTO quota.usage AS u (workspace_id, month, used)
    SELECT workspace_id, month, greatest(sum(amount), 0)::integer FROM adjusted GROUP BY workspace_id, month ORDER BY workspace_id, month
    ON CONFLICT (workspace_id, month) DO UPDATE
      SET used = u.used + (SELECT sum(a.amount) FROM adjusted a WHERE a.workspace_id = u.workspace_id AND a.month = u.month)
  ), entries AS (
    INSERT INTO quota.adjustments (workspace_id, month, turn_id, amount, reason)
    SELECT workspace_id, month, turn_id, amount, $4 FROM adjusted
  )
  SELECT workspace_id AS "workspaceId", turn_id AS "turnId" FROM adjusted`;

/**
 * Gives settled turns another outcome, and stores an adjustment for each. Returns the turns that it changed. Turns of closed months are not
 * changed.
 */
export async function adjustTurns(
  database: Database,
  { turns, outcome, reason }: { turns: readonly ReservationKey[]; outcome: SettleOutcomeName; reason: string },
): Promise<ReservationKey[]> {
  const { rows } = await database.query<ReservationKey>({
    name: "adjust_turns",
    text: ADJUST,
    values: [turns.map((turn) => turn.workspaceId), turns.map((turn) => turn.turnId), outcome, reason],
  });
  return rows;
}

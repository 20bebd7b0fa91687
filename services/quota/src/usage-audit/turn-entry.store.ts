import type { ReservationStateName } from "@parley/rpc/outcomes";
import type { Database } from "@parley/service-kit";

/** One turn in the usage accounting. */
export type TurnEntry = {
  state: ReservationStateName;
  /** The UTC month, "YYYY-MM". */
  month: string;
  /** Null if the turn never had a hold. */
  heldAt: Date | null;
  /** Null while the turn is held. */
  settledAt: Date | null;
  /** Null unless the turn is counted. */
  countedAt: Date | null;
  charge: "plan" | "credit" | "overage";
  /** Null unless the charge is credit. */
  creditId: string | null;
};

// A turn that is settled without a hold gets a row with equal reserved_at and settled_at.
const READ_TURN_ENTRY = `
  SELECT r.state, to_char(r.month, 'YYYY-MM') AS month, r.settled_at AS "settledAt", l.counted_at AS "countedAt",
         coalesce(r.charge, 'plan') AS charge, r.credit_id AS "creditId",
         CASE WHEN r.settled_at IS DISTINCT FROM r.reserved_at THEN r.reserved_at END AS "heldAt"
  FROM quota.reservations r
  LEFT JOIN quota.ledger l ON l.workspace_id = r.workspace_id AND l.month = r.month AND l.turn_id = r.turn_id
  WHERE r.workspace_id = $1 AND r.turn_id = $2`;

export async function readTurnEntry(
  database: Database,
  workspaceId: string,
  turnId: string,
): Promise<TurnEntry | undefined> {
  const { rows } = await database.query<TurnEntry>(READ_TURN_ENTRY, [workspaceId, turnId]);
  return rows[0];
}

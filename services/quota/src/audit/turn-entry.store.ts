import type { Database } from "@parley/service-kit";

/** What the books say of one turn. */
export type TurnEntry = {
  state: "held" | "done" | "void";
  /** The UTC month, "YYYY-MM". */
  month: string;
  /** When it took its message of the month; null when it never held one. */
  heldAt: Date | null;
  /** Null while it is held, or when its settling was not noted. */
  settledAt: Date | null;
  /** Null unless it counts. */
  countedAt: Date | null;
};

// A turn that was settled without ever having held a message got its row from that: reserved and settled by one statement.
const READ_TURN_ENTRY = `
  SELECT r.state, to_char(r.month, 'YYYY-MM') AS month, r.settled_at AS "settledAt", l.counted_at AS "countedAt",
         CASE WHEN r.settled_at IS DISTINCT FROM r.reserved_at THEN r.reserved_at END AS "heldAt"
  FROM quota.reservations r
  LEFT JOIN quota.ledger l ON l.workspace_id = r.workspace_id AND l.month = r.month AND l.turn_id = r.turn_id
  WHERE r.workspace_id = $1 AND r.turn_id = $2`;

/** What the books say of a turn; undefined when they know nothing of it. */
export async function readTurnEntry(
  database: Database,
  workspaceId: string,
  turnId: string,
): Promise<TurnEntry | undefined> {
  const { rows } = await database.query<TurnEntry>(READ_TURN_ENTRY, [workspaceId, turnId]);
  return rows[0];
}

import { queryFirstRow } from "../../../tests/system/database.ts";

// Charges whose turn is missing have no session, so they count as additional.
const CHARGES = `
  SELECT count(*)::integer AS charges, count(DISTINCT t.session_id)::integer AS sessions
  FROM quota.ledger LEFT JOIN conversation.turns t USING (workspace_id, turn_id)
  WHERE workspace_id = $1`;

/**
 * Compares the charges of a workspace with its replies. The caller must run each reply in its own session. Returns the number of replies
 * without a charge and the number of charges beyond one per reply.
 */
export async function compareCharges(
  database: { url: string },
  workspaceId: string,
  replies: number,
): Promise<{ missing: number; additional: number }> {
  const row = await queryFirstRow<{ charges: number; sessions: number }>(database, CHARGES, [workspaceId]);
  return { missing: replies - row.sessions, additional: row.charges - row.sessions };
}

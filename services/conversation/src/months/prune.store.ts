import type { Database } from "@parley/service-kit";

/**
 * Returns the oldest month that ended at least `months` months ago, was closed more than a day ago and is not pruned yet; undefined if there
 * is none.
 */
export async function findMonthToPrune(database: Database, months: number): Promise<string | undefined> {
  const { rows } = await database.query<{ month: string }>(
    `SELECT to_char(month, 'YYYY-MM') AS month FROM conversation.closed_months
     WHERE pruned_at IS NULL AND closed_at < now() - interval '1 day'
       AND (month + make_interval(months => $1 + 1)) AT TIME ZONE 'UTC' <= now()
     ORDER BY month LIMIT 1`,
    [months],
  );
  return rows[0]?.month;
}

/** Returns the first workspace with done turns of a month; undefined if there is none. */
export async function findWorkspaceToPrune(database: Database, month: string): Promise<string | undefined> {
  const { rows } = await database.query<{ workspaceId: string }>(
    `SELECT workspace_id AS "workspaceId" FROM conversation.turns
     WHERE status = 'done' AND month = to_date($1, 'YYYY-MM') ORDER BY workspace_id LIMIT 1`,
    [month],
  );
  return rows[0]?.workspaceId;
}

/**
 * Deletes up to `limit` done turns of a workspace and a closed month, and adds them to turn_totals. Returns their number. The SQL
 * function runs with the rights of the migrating role, because the service's role cannot change turn_totals.
 */
export async function pruneTurns(
  database: Database,
  { workspaceId, month, limit }: { workspaceId: string; month: string; limit: number },
): Promise<number> {
  const { rows } = await database.query<{ pruned: number }>(
    "SELECT conversation.prune_turns($1, to_date($2, 'YYYY-MM'), $3) AS pruned",
    [workspaceId, month, limit],
  );
  return rows[0]?.pruned ?? 0;
}

/** The turns `t` that do not count as usage, were closed before the end of the month `$1` and have no row in the outbox. */
const UNCOUNTED_TURNS = `
  conversation.turns t
  WHERE t.status NOT IN ('streaming', 'done')
    AND t.closed_at < (to_date($1, 'YYYY-MM') + interval '1 month') AT TIME ZONE 'UTC'
    AND NOT EXISTS (
      SELECT FROM conversation.outbox o WHERE o.workspace_id = t.workspace_id AND o.turn_id = t.turn_id)`;

/** Deletes up to `limit` uncounted turns, except those that other transactions lock. Returns their number. */
export async function deleteUncountedTurns(database: Database, month: string, limit: number): Promise<number> {
  const { rowCount } = await database.query(
    `DELETE FROM conversation.turns d
     USING (
       SELECT t.workspace_id, t.turn_id FROM ${UNCOUNTED_TURNS}
       ORDER BY t.closed_at LIMIT $2
       FOR UPDATE SKIP LOCKED
     ) u
     WHERE d.workspace_id = u.workspace_id AND d.turn_id = u.turn_id`,
    [month, limit],
  );
  return rowCount ?? 0;
}

/** Includes turns that other transactions lock. */
export async function hasUncountedTurns(database: Database, month: string): Promise<boolean> {
  const { rowCount } = await database.query(`SELECT FROM ${UNCOUNTED_TURNS} LIMIT 1`, [month]);
  return rowCount === 1;
}

export async function markMonthPruned(database: Database, month: string): Promise<void> {
  await database.query("UPDATE conversation.closed_months SET pruned_at = now() WHERE month = to_date($1, 'YYYY-MM')", [
    month,
  ]);
}

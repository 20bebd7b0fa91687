import type { Database } from "@parley/service-kit";

// The SQL functions run with the rights of the migrating role, because the service's role cannot delete from the usage ledger. They return null
// while another replica prunes.

/**
 * Deletes up to `limit` rows of a workspace's closed month from the usage ledger, and adds their number and digest to quota.ledger_totals. For
 * the turns of these rows and for turns with an adjustment in the month, also deletes the month's reservations that are no longer held. Returns
 * the number of deleted ledger rows.
 */
export async function pruneLedger(
  database: Database,
  { workspaceId, month, limit }: { workspaceId: string; month: string; limit: number },
): Promise<number | null> {
  const { rows } = await database.query<{ pruned: number | null }>(
    "SELECT quota.prune_ledger($1, to_date($2, 'YYYY-MM'), $3) AS pruned",
    [workspaceId, month, limit],
  );
  return rows[0]?.pruned ?? null;
}

/** Deletes up to `limit` void reservations that were settled at least `minAgeDays` ago and have no adjustment. Returns their number. */
export async function pruneVoidReservations(
  database: Database,
  { minAgeDays, limit }: { minAgeDays: number; limit: number },
): Promise<number | null> {
  const { rows } = await database.query<{ pruned: number | null }>(
    "SELECT quota.prune_void_reservations(make_interval(days => $1), $2) AS pruned",
    [minAgeDays, limit],
  );
  return rows[0]?.pruned ?? null;
}

/**
 * Returns the oldest month that was closed at least a day ago, ended at least `months` months ago and is not marked as pruned; undefined if there
 * is none.
 */
export async function findMonthToPrune(database: Database, months: number): Promise<string | undefined> {
  const { rows } = await database.query<{ month: string }>(
    `SELECT to_char(month, 'YYYY-MM') AS month FROM quota.months
     WHERE pruned_at IS NULL AND closed_at < now() - interval '1 day'
       AND (month + make_interval(months => $1 + 1)) AT TIME ZONE 'UTC' <= now()
     ORDER BY month LIMIT 1`,
    [months],
  );
  return rows[0]?.month;
}

/** Returns the first workspace id above `after` that has usage in the month; undefined if there is none. */
export async function findNextWorkspace(database: Database, month: string, after: string): Promise<string | undefined> {
  const { rows } = await database.query<{ workspaceId: string }>(
    `SELECT workspace_id AS "workspaceId" FROM quota.usage
     WHERE month = to_date($1, 'YYYY-MM') AND workspace_id > $2 ORDER BY workspace_id LIMIT 1`,
    [month, after],
  );
  return rows[0]?.workspaceId;
}

/** Marks a month as pruned. The caller must first have deleted all of the month's rows with pruneLedger. */
export async function markMonthPruned(database: Database, month: string): Promise<void> {
  await database.query("UPDATE quota.months SET pruned_at = now() WHERE month = to_date($1, 'YYYY-MM')", [month]);
}

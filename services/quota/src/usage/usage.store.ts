import type { Database } from "@parley/service-kit";

export type Usage = { plan: string; cap: number; used: number; held: number; month: string };

export type WorkspaceMonth = { workspaceId: string; used: number; held: number; ledger: number; ledgerDigest: bigint };

/** SQL expression for the first day of the current UTC month by the database's clock. */
export const CURRENT_MONTH = "date_trunc('month', now() AT TIME ZONE 'UTC')::date";

const READ_USAGE = `
  WITH selected AS (SELECT coalesce(to_date($2, 'YYYY-MM'), ${CURRENT_MONTH}) AS month)
  SELECT w.plan, p.monthly_cap AS cap, coalesce(u.used, 0) AS used, coalesce(u.held, 0) AS held,
         to_char(selected.month, 'YYYY-MM') AS month
  FROM selected
  CROSS JOIN quota.workspaces w
  JOIN quota.plans p USING (plan)
  LEFT JOIN quota.usage u ON u.workspace_id = w.workspace_id AND u.month = selected.month
  WHERE w.workspace_id = $1`;

/** Returns a workspace's usage of a month ("YYYY-MM", by default the current one); undefined when the workspace is unknown. */
export async function readUsage(database: Database, workspaceId: string, month?: string): Promise<Usage | undefined> {
  const { rows } = await database.query<Usage>({ text: READ_USAGE, values: [workspaceId, month ?? null] });
  return rows[0];
}

// The usage ledger's key is (workspace_id, month, turn_id). For all workspaces, the recursive query steps from one workspace to the
// next and reads only the selected month, instead of scanning every month.
const READ_MONTH = `
  WITH RECURSIVE selected AS (SELECT coalesce(to_date($2, 'YYYY-MM'), ${CURRENT_MONTH}) AS month),
  workspaces (workspace_id) AS (
    SELECT CASE $1 WHEN '' THEN (SELECT min(workspace_id) FROM quota.ledger) ELSE $1 END
    UNION ALL
    SELECT (SELECT min(l.workspace_id) FROM quota.ledger l WHERE l.workspace_id > w.workspace_id)
    FROM workspaces w WHERE $1 = '' AND w.workspace_id IS NOT NULL
  ), counted AS (
    SELECT w.workspace_id, entry.entries, entry.digest
    FROM workspaces w CROSS JOIN selected CROSS JOIN LATERAL (
      SELECT count(*)::integer AS entries, bit_xor(('x' || left(md5(l.turn_id::text), 16))::bit(64)::bigint) AS digest
      FROM quota.ledger l WHERE l.workspace_id = w.workspace_id AND l.month = selected.month
    ) entry
    WHERE entry.entries > 0
  ), used AS (
    SELECT u.workspace_id, u.used, u.held
    FROM quota.usage u JOIN selected USING (month)
    WHERE $1 = '' OR u.workspace_id = $1
  )
  SELECT workspace_id AS "workspaceId", coalesce(used, 0) AS used, coalesce(held, 0) AS held, coalesce(entries, 0) AS ledger,
         coalesce(digest, 0)::text AS digest
  FROM used FULL JOIN counted USING (workspace_id)
  ORDER BY workspace_id`;

/** Returns the usage totals of a month for one workspace, or for all workspaces when the ID is empty. */
export async function readMonth(database: Database, workspaceId: string, month?: string): Promise<WorkspaceMonth[]> {
  const { rows } = await database.query<Omit<WorkspaceMonth, "ledgerDigest"> & { digest: string }>({
    text: READ_MONTH,
    values: [workspaceId, month ?? null],
  });
  return rows.map(({ digest, ...totals }) => ({ ...totals, ledgerDigest: BigInt(digest) }));
}

const LIST_TURNS = `
  SELECT turn_id, true AS counted FROM quota.ledger WHERE workspace_id = $1 AND month = to_date($2, 'YYYY-MM')
  UNION ALL
  SELECT turn_id, false FROM quota.reservations WHERE workspace_id = $1 AND month = to_date($2, 'YYYY-MM') AND state = 'held'`;

/** Returns the turns counted and held in a workspace's month, from one snapshot. */
export async function listTurns(
  database: Database,
  workspaceId: string,
  month: string,
): Promise<{ counted: string[]; held: string[] }> {
  const { rows } = await database.query<{ turn_id: string; counted: boolean }>(LIST_TURNS, [workspaceId, month]);
  const { counted = [], held = [] } = Object.groupBy(rows, (row) => (row.counted ? "counted" : "held"));
  return { counted: counted.map((row) => row.turn_id), held: held.map((row) => row.turn_id) };
}

/** Returns the current UTC month by the database's clock, "YYYY-MM". */
export async function currentMonth(database: Database): Promise<string> {
  const { rows } = await database.query<{ month: string }>(`SELECT to_char(${CURRENT_MONTH}, 'YYYY-MM') AS month`);
  return rows[0]?.month ?? "";
}

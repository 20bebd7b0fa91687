import type { Database } from "@parley/service-kit";

export type Usage = { plan: string; cap: number; used: number; held: number; month: string };

export type WorkspaceMonth = { workspaceId: string; used: number; held: number; ledger: number; ledgerDigest: bigint };

/** SQL for the first day of the current UTC month by the database's clock. */
export const CURRENT_MONTH = "date_trunc('month', now() AT TIME ZONE 'UTC')::date";

const READ_USAGE = `
  WITH asked AS (SELECT coalesce(to_date($2, 'YYYY-MM'), ${CURRENT_MONTH}) AS month)
  SELECT w.plan, p.monthly_cap AS cap, coalesce(u.used, 0) AS used, coalesce(u.held, 0) AS held,
         to_char(asked.month, 'YYYY-MM') AS month
  FROM asked
  CROSS JOIN quota.workspaces w
  JOIN quota.plans p USING (plan)
  LEFT JOIN quota.usage u ON u.workspace_id = w.workspace_id AND u.month = asked.month
  WHERE w.workspace_id = $1`;

/** One workspace's usage of a month ("YYYY-MM"; undefined for the current one); undefined when the workspace is unknown. */
export async function readUsage(database: Database, workspaceId: string, month?: string): Promise<Usage | undefined> {
  const { rows } = await database.query<Usage>({ text: READ_USAGE, values: [workspaceId, month ?? null] });
  return rows[0];
}

// The ledger's key begins with the workspace: asked for a month of every one, it is walked from workspace to workspace, so that other
// months are passed over.
const READ_MONTH = `
  WITH RECURSIVE asked AS (SELECT coalesce(to_date($2, 'YYYY-MM'), ${CURRENT_MONTH}) AS month),
  workspaces (workspace_id) AS (
    SELECT CASE $1 WHEN '' THEN (SELECT min(workspace_id) FROM quota.ledger) ELSE $1 END
    UNION ALL
    SELECT (SELECT min(l.workspace_id) FROM quota.ledger l WHERE l.workspace_id > w.workspace_id)
    FROM workspaces w WHERE $1 = '' AND w.workspace_id IS NOT NULL
  ), counted AS (
    SELECT w.workspace_id, entry.entries, entry.digest
    FROM workspaces w CROSS JOIN asked CROSS JOIN LATERAL (
      SELECT count(*)::integer AS entries, bit_xor(('x' || left(md5(l.turn_id::text), 16))::bit(64)::bigint) AS digest
      FROM quota.ledger l WHERE l.workspace_id = w.workspace_id AND l.month = asked.month
    ) entry
    WHERE entry.entries > 0
  ), used AS (
    SELECT u.workspace_id, u.used, u.held
    FROM quota.usage u JOIN asked USING (month)
    WHERE $1 = '' OR u.workspace_id = $1
  )
  SELECT workspace_id AS "workspaceId", coalesce(used, 0) AS used, coalesce(held, 0) AS held, coalesce(entries, 0) AS ledger,
         coalesce(digest, 0)::text AS digest
  FROM used FULL JOIN counted USING (workspace_id)
  ORDER BY workspace_id`;

/** What the books say of one workspace, or of every one for an empty id, in a month. */
export async function readMonth(database: Database, workspaceId: string, month?: string): Promise<WorkspaceMonth[]> {
  const { rows } = await database.query<Omit<WorkspaceMonth, "ledgerDigest"> & { digest: string }>({
    text: READ_MONTH,
    values: [workspaceId, month ?? null],
  });
  return rows.map(({ digest, ...books }) => ({ ...books, ledgerDigest: BigInt(digest) }));
}

const LIST_TURNS = `
  SELECT turn_id, true AS counted FROM quota.ledger WHERE workspace_id = $1 AND month = to_date($2, 'YYYY-MM')
  UNION ALL
  SELECT turn_id, false FROM quota.reservations WHERE workspace_id = $1 AND month = to_date($2, 'YYYY-MM') AND state = 'held'`;

/** The turns that a workspace's month counts, and those that hold a message of it; one snapshot. */
export async function listTurns(
  database: Database,
  workspaceId: string,
  month: string,
): Promise<{ counted: string[]; held: string[] }> {
  const { rows } = await database.query<{ turn_id: string; counted: boolean }>(LIST_TURNS, [workspaceId, month]);
  const { counted = [], held = [] } = Object.groupBy(rows, (row) => (row.counted ? "counted" : "held"));
  return { counted: counted.map((row) => row.turn_id), held: held.map((row) => row.turn_id) };
}

/** The current UTC month by the database's clock, "YYYY-MM". */
export async function currentMonth(database: Database): Promise<string> {
  const { rows } = await database.query<{ month: string }>(`SELECT to_char(${CURRENT_MONTH}, 'YYYY-MM') AS month`);
  return rows[0]?.month ?? "";
}

import type { Database } from "@parley/service-kit";
import { TODAY, UNPAID_LIMIT } from "../unpaid/index.ts";

/** `adjusted` is the part of `used` that the operator added; negative if the operator removed messages. */
export type Usage = {
  plan: string;
  cap: number;
  used: number;
  held: number;
  adjusted: number;
  month: string;
  /** The unpaid replies of the current UTC day that count towards `unpaidLimit`; 0 for another month. */
  unpaid: number;
  /** The unpaid replies of a day after which Reserve refuses turns. */
  unpaidLimit: number;
  /** The parts of `used` that were charged to credits, and that are overage. */
  creditUsed: number;
  overageUsed: number;
  /** The most messages of overage in a month. */
  overageCap: number;
  /** The messages of all credits that new turns can use. */
  creditLeft: number;
  /** The workspace's current retention; 0 for none. */
  retentionMinutes: number;
  /** The workspace's current thresholds in percent of the cap, the lowest first. */
  thresholds: number[];
};

export type WorkspaceMonth = {
  workspaceId: string;
  used: number;
  held: number;
  /** The number of rows of the usage ledger, pruned ones included, plus the sum of the adjustments. */
  ledger: number;
  /** The XOR of the hashes of the counted turns' ids. */
  ledgerDigest: bigint;
  /** As in Usage; also a part of `ledger`. */
  adjusted: number;
  /** The part of `ledger` whose rows were pruned. */
  pruned: number;
  /** Whether the charges to credits or the overage differ (see the SQL function quota.charges_differ). */
  chargesDiffer: boolean;
};

/** SQL expression for the first day of the current UTC month by the database's clock. */
export const CURRENT_MONTH = "date_trunc('month', now() AT TIME ZONE 'UTC')::date";

/**
 * Returns SQL for the plan that the workspace `w` had at the end of a month; the current plan for the current month. `month` is an SQL
 * expression for the month's first day.
 */
export function planOfMonth(month: string): string {
  return `coalesce(
    (SELECT c.previous_plan FROM quota.plan_changes c
     WHERE c.workspace_id = w.workspace_id AND c.changed_at >= ((${month} + interval '1 month') AT TIME ZONE 'UTC')
     ORDER BY c.changed_at LIMIT 1),
    w.plan)`;
}

/**
 * Returns SQL for the sum of the operator's adjustments of the workspace `w` in a month. `month` is an SQL expression for the month's first
 * day.
 */
export function adjustedInMonth(month: string): string {
  return `(SELECT coalesce(sum(a.amount), 0)::integer FROM quota.adjustments a
    WHERE a.workspace_id = w.workspace_id AND a.month = ${month} AND a.turn_id IS NULL)`;
}

const READ_USAGE = `
  WITH selected AS (SELECT coalesce(to_date($2, 'YYYY-MM'), ${CURRENT_MONTH}) AS month)
  SELECT p.plan, p.monthly_cap AS cap, coalesce(u.used, 0) AS used, coalesce(u.held, 0) AS held,
         ${adjustedInMonth("selected.month")} AS adjusted, to_char(selected.month, 'YYYY-MM') AS month,
         CASE WHEN u.unpaid_day = ${TODAY} THEN u.unpaid - u.unpaid_reset ELSE 0 END AS unpaid, ${UNPAID_LIMIT} AS "unpaidLimit",
         coalesce(u.credit_used, 0) AS "creditUsed", coalesce(u.overage_used, 0) AS "overageUsed", p.monthly_overage AS "overageCap",
         (SELECT coalesce(sum(c.messages - c.used - c.held), 0)::integer FROM quota.credits c
          WHERE c.workspace_id = w.workspace_id AND quota.is_usable(c)) AS "creditLeft",
         w.retention_minutes AS "retentionMinutes", w.usage_thresholds AS thresholds
  FROM selected
  CROSS JOIN quota.workspaces w
  JOIN quota.plans p ON p.plan = ${planOfMonth("selected.month")}
  LEFT JOIN quota.usage u ON u.workspace_id = w.workspace_id AND u.month = selected.month
  WHERE w.workspace_id = $1`;

/** Returns a workspace's usage of a month ("YYYY-MM", by default the current one); undefined when the workspace is unknown. */
export async function readUsage(database: Database, workspaceId: string, month?: string): Promise<Usage | undefined> {
  const { rows } = await database.query<Usage>({ text: READ_USAGE, values: [workspaceId, month ?? null] });
  return rows[0];
}

// The recursive query steps from one workspace to the next by the ledger's key (workspace_id, month, turn_id). For each workspace, `counted`
// then reads only the ledger rows of the selected month. A turn's adjustment adds or removes the turn: XOR with its hash updates the digest in
// both cases. An operator's adjustment has no turn, and bit_xor ignores NULL.
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
  ), adjusted AS (
    SELECT a.workspace_id, sum(a.amount)::integer AS amount,
           coalesce(sum(a.amount) FILTER (WHERE a.turn_id IS NULL), 0)::integer AS by_operator,
           bit_xor(('x' || left(md5(a.turn_id::text), 16))::bit(64)::bigint) AS digest
    FROM quota.adjustments a JOIN selected USING (month)
    WHERE $1 = '' OR a.workspace_id = $1
    GROUP BY a.workspace_id
  ), used AS (
    SELECT u.workspace_id, u.used, u.held
    FROM quota.usage u JOIN selected USING (month)
    WHERE $1 = '' OR u.workspace_id = $1
  ), pruned AS (
    SELECT t.workspace_id, t.turns, t.digest
    FROM quota.ledger_totals t JOIN selected USING (month)
    WHERE $1 = '' OR t.workspace_id = $1
  )
  SELECT workspace_id AS "workspaceId", coalesce(used, 0) AS used, coalesce(held, 0) AS held,
         coalesce(entries, 0) + coalesce(pruned.turns, 0) + coalesce(adjusted.amount, 0) AS ledger,
         coalesce(adjusted.by_operator, 0) AS adjusted, coalesce(pruned.turns, 0) AS pruned,
         (coalesce(counted.digest, 0) # coalesce(pruned.digest, 0) # coalesce(adjusted.digest, 0))::text AS digest,
         quota.charges_differ(workspace_id, (SELECT month FROM selected), pruned.turns > 0) AS "chargesDiffer"
  FROM used FULL JOIN counted USING (workspace_id) FULL JOIN adjusted USING (workspace_id) FULL JOIN pruned USING (workspace_id)
  ORDER BY workspace_id`;

/** Returns the usage totals of a month for one workspace, or for all workspaces if the id is empty. */
export async function readMonth(database: Database, workspaceId: string, month?: string): Promise<WorkspaceMonth[]> {
  const { rows } = await database.query<Omit<WorkspaceMonth, "ledgerDigest"> & { digest: string }>({
    text: READ_MONTH,
    values: [workspaceId, month ?? null],
  });
  return rows.map(({ digest, ...totals }) => ({ ...totals, ledgerDigest: BigInt(digest) }));
}

const READ_MONTH_PAGE = `
  WITH page AS MATERIALIZED (
    SELECT u.workspace_id, u.used, u.held FROM quota.usage u
    WHERE u.month = to_date($1, 'YYYY-MM') AND u.workspace_id > $2
    ORDER BY u.workspace_id
    LIMIT $3
  )
  SELECT page.workspace_id AS "workspaceId", page.used, page.held, entry.entries + coalesce(pruned.turns, 0) + adjusted.amount AS ledger,
         adjusted.by_operator AS adjusted, coalesce(pruned.turns, 0) AS pruned,
         (coalesce(entry.digest, 0) # coalesce(pruned.digest, 0) # coalesce(adjusted.digest, 0))::text AS digest,
         quota.charges_differ(page.workspace_id, to_date($1, 'YYYY-MM'), pruned.turns > 0) AS "chargesDiffer"
  FROM page
  CROSS JOIN LATERAL (
    SELECT count(*)::integer AS entries, bit_xor(('x' || left(md5(l.turn_id::text), 16))::bit(64)::bigint) AS digest
    FROM quota.ledger l WHERE l.workspace_id = page.workspace_id AND l.month = to_date($1, 'YYYY-MM')
  ) entry
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(a.amount), 0)::integer AS amount,
           coalesce(sum(a.amount) FILTER (WHERE a.turn_id IS NULL), 0)::integer AS by_operator,
           bit_xor(('x' || left(md5(a.turn_id::text), 16))::bit(64)::bigint) AS digest
    FROM quota.adjustments a WHERE a.workspace_id = page.workspace_id AND a.month = to_date($1, 'YYYY-MM')
  ) adjusted
  LEFT JOIN quota.ledger_totals pruned ON pruned.workspace_id = page.workspace_id AND pruned.month = to_date($1, 'YYYY-MM')
  ORDER BY page.workspace_id`;

/** Returns a month's usage totals for up to `limit` workspaces with ids above `after`, ordered by id. Omits workspaces without a usage row. */
export async function readMonthPage(
  database: Database,
  month: string,
  { after, limit }: { after: string; limit: number },
): Promise<WorkspaceMonth[]> {
  const { rows } = await database.query<Omit<WorkspaceMonth, "ledgerDigest"> & { digest: string }>({
    text: READ_MONTH_PAGE,
    values: [month, after, limit],
  });
  return rows.map(({ digest, ...totals }) => ({ ...totals, ledgerDigest: BigInt(digest) }));
}

const LIST_TURNS = `
  SELECT turn_id, true AS counted FROM (
    SELECT turn_id, 1 AS amount FROM quota.ledger WHERE workspace_id = $1 AND month = to_date($2, 'YYYY-MM')
    UNION ALL
    SELECT turn_id, amount FROM quota.adjustments
    WHERE workspace_id = $1 AND month = to_date($2, 'YYYY-MM') AND turn_id IS NOT NULL
  ) entry
  GROUP BY turn_id HAVING sum(amount) > 0
  UNION ALL
  SELECT turn_id, false FROM quota.reservations WHERE workspace_id = $1 AND month = to_date($2, 'YYYY-MM') AND state = 'held'`;

/** Returns the counted turns and the held turns of a workspace's month, from one snapshot. */
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

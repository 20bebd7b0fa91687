import type { Database } from "@parley/service-kit";
import { adjustedInMonth, CURRENT_MONTH, planOfMonth } from "./usage.store.ts";

export type WorkspaceUsage = {
  workspaceId: string;
  name: string;
  plan: string;
  cap: number;
  used: number;
  held: number;
  /** The part of `used` that the operator added; negative if the operator removed messages. */
  adjusted: number;
  /** The parts of `used` that were charged to credits, and that are overage. */
  creditUsed: number;
  overageUsed: number;
};

const columns = (monthSql: string) => `w.workspace_id AS "workspaceId", w.name, p.plan, p.monthly_cap AS cap,
         coalesce(u.used, 0) AS used, coalesce(u.held, 0) AS held, ${adjustedInMonth(monthSql)} AS adjusted,
         coalesce(u.credit_used, 0) AS "creditUsed", coalesce(u.overage_used, 0) AS "overageUsed"`;

const PAGE = `
  SELECT ${columns("to_date($1, 'YYYY-MM')")}
  FROM quota.workspaces w
  JOIN quota.plans p ON p.plan = ${planOfMonth("to_date($1, 'YYYY-MM')")}
  LEFT JOIN quota.usage u ON u.workspace_id = w.workspace_id AND u.month = to_date($1, 'YYYY-MM')
  WHERE w.workspace_id > $2
    AND (w.deleted_at >= (to_date($1, 'YYYY-MM')::timestamp AT TIME ZONE 'UTC') OR w.deleted_at IS NULL OR u.used + u.held > 0)
  ORDER BY w.workspace_id
  LIMIT $3`;

/**
 * Lists workspaces with their usage of a month ("YYYY-MM"): at most `limit`, ordered by id, after the id `after`. Leaves out workspaces that
 * were deleted before the month and have no usage in it.
 */
export async function listUsage(
  database: Database,
  month: string,
  { after, limit }: { after: string; limit: number },
): Promise<WorkspaceUsage[]> {
  const { rows } = await database.query<WorkspaceUsage>(PAGE, [month, after, limit]);
  return rows;
}

const NEAREST_TO_CAP = `
  SELECT ${columns(CURRENT_MONTH)}
  FROM quota.usage u
  JOIN quota.workspaces w USING (workspace_id)
  JOIN quota.plans p ON p.plan = w.plan
  WHERE u.month = ${CURRENT_MONTH} AND w.deleted_at IS NULL AND p.monthly_cap > 0 AND u.used + u.held > 0
  ORDER BY (u.used + u.held)::float8 / p.monthly_cap DESC, w.workspace_id
  LIMIT $1`;

/** Lists the `limit` workspaces with the largest (used + held) / cap this month, largest first. */
export async function listNearestCap(database: Database, limit: number): Promise<WorkspaceUsage[]> {
  const { rows } = await database.query<WorkspaceUsage>(NEAREST_TO_CAP, [limit]);
  return rows;
}

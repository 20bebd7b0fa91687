import type { Database } from "@parley/service-kit";
import { CURRENT_MONTH } from "./usage.store.ts";

/** A workspace with its usage of one month. */
export type WorkspaceUsage = {
  workspaceId: string;
  name: string;
  plan: string;
  cap: number;
  used: number;
  held: number;
};

const COLUMNS = `w.workspace_id AS "workspaceId", w.name, w.plan, p.monthly_cap AS cap,
         coalesce(u.used, 0) AS used, coalesce(u.held, 0) AS held`;

const PAGE = `
  SELECT ${COLUMNS}
  FROM quota.workspaces w
  JOIN quota.plans p USING (plan)
  LEFT JOIN quota.usage u ON u.workspace_id = w.workspace_id AND u.month = to_date($1, 'YYYY-MM')
  WHERE w.workspace_id > $2
  ORDER BY w.workspace_id
  LIMIT $3`;

/** Lists workspaces with their usage of a month ("YYYY-MM"): at most `limit`, ordered by ID, with IDs after `after`. */
export async function listUsage(
  database: Database,
  month: string,
  { after, limit }: { after: string; limit: number },
): Promise<WorkspaceUsage[]> {
  const { rows } = await database.query<WorkspaceUsage>(PAGE, [month, after, limit]);
  return rows;
}

const NEAREST = `
  SELECT ${COLUMNS}
  FROM quota.usage u
  JOIN quota.workspaces w USING (workspace_id)
  JOIN quota.plans p USING (plan)
  WHERE u.month = ${CURRENT_MONTH} AND p.monthly_cap > 0 AND u.used + u.held > 0
  ORDER BY (u.used + u.held)::float8 / p.monthly_cap DESC, w.workspace_id
  LIMIT $1`;

/** Lists the `limit` workspaces that used or hold the largest shares of their caps this month, largest first. */
export async function listNearestCap(database: Database, limit: number): Promise<WorkspaceUsage[]> {
  const { rows } = await database.query<WorkspaceUsage>(NEAREST, [limit]);
  return rows;
}

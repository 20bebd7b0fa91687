import type { Database } from "@parley/service-kit";

/** The current month's usage, summed over the workspaces of one plan. */
export type PlanUsage = {
  plan: string;
  workspaces: number;
  cap: number;
  used: number;
  held: number;
  /** The parts of `used` that were charged to credits, and that are overage. */
  creditUsed: number;
  overageUsed: number;
  /** Workspaces that have used at least a `share` of their cap (see readCurrentUsage), including the full ones. */
  near: number;
  /** Workspaces that have used their whole cap. */
  full: number;
};

/** A workspace near its cap. `ratio` is its usage divided by its cap, without credits and overage. */
export type NearWorkspace = { workspaceId: string; plan: string; ratio: number };

/** A workspace among those that have used most. */
export type TopWorkspace = { workspaceId: string; plan: string; used: number };

const CURRENT_USAGE = `
  WITH current_usage AS (
    SELECT w.workspace_id, p.plan, p.monthly_cap AS cap, coalesce(u.used, 0) AS used, coalesce(u.held, 0) AS held,
           coalesce(u.credit_used, 0) AS credit_used, coalesce(u.overage_used, 0) AS overage_used,
           coalesce(u.used - u.credit_used - u.overage_used, 0) AS plan_used
    FROM quota.plans p
    LEFT JOIN quota.workspaces w ON w.plan = p.plan AND w.deleted_at IS NULL
    LEFT JOIN quota.usage u ON u.workspace_id = w.workspace_id AND u.month = date_trunc('month', now() AT TIME ZONE 'UTC')::date
  )`;

// `near`, `full` and NEAR leave out the workspaces of a plan with a cap of 0, because this cap disables a workspace.
const BY_PLAN = `${CURRENT_USAGE}
  SELECT plan, count(workspace_id)::integer AS workspaces,
         coalesce(sum(cap) FILTER (WHERE workspace_id IS NOT NULL), 0)::bigint AS cap,
         sum(used)::bigint AS used, sum(held)::bigint AS held,
         sum(credit_used)::bigint AS "creditUsed", sum(overage_used)::bigint AS "overageUsed",
         count(workspace_id) FILTER (WHERE cap > 0 AND plan_used >= cap * $1::float8)::integer AS near,
         count(workspace_id) FILTER (WHERE cap > 0 AND plan_used >= cap)::integer AS full
  FROM current_usage GROUP BY plan`;

const NEAR = `${CURRENT_USAGE}
  SELECT workspace_id AS "workspaceId", plan, plan_used::float8 / cap AS ratio
  FROM current_usage WHERE cap > 0 AND plan_used >= cap * $1::float8 AND workspace_id IS NOT NULL
  ORDER BY ratio DESC, workspace_id LIMIT $2`;

const TOP = `${CURRENT_USAGE}
  SELECT workspace_id AS "workspaceId", plan, used
  FROM current_usage WHERE used > 0 AND workspace_id IS NOT NULL
  ORDER BY used DESC, workspace_id LIMIT $1`;

/**
 * Returns the usage of every plan; up to `limit` workspaces that have used at least `share` of their cap, highest ratio first; and up to `topLimit`
 * workspaces that have used most, highest first.
 */
export async function readCurrentUsage(
  database: Database,
  { share, limit, topLimit }: { share: number; limit: number; topLimit: number },
): Promise<{ plans: PlanUsage[]; nearWorkspaces: NearWorkspace[]; topWorkspaces: TopWorkspace[] }> {
  const [plans, nearWorkspaces, topWorkspaces] = await Promise.all([
    database.query<PlanUsage>(BY_PLAN, [share]),
    database.query<NearWorkspace>(NEAR, [share, limit]),
    database.query<TopWorkspace>(TOP, [topLimit]),
  ]);
  return { plans: plans.rows, nearWorkspaces: nearWorkspaces.rows, topWorkspaces: topWorkspaces.rows };
}

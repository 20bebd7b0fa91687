import type { Database } from "@parley/service-kit";

/** How the workspaces of a plan stand this month. */
export type PlanStanding = {
  plan: string;
  workspaces: number;
  cap: number;
  used: number;
  held: number;
  /** Workspaces that have used the share that is asked about, those at their cap among them. */
  near: number;
  full: number;
};

export type NearWorkspace = { workspaceId: string; plan: string; ratio: number };

// A plan of nothing is a workspace that is switched off: it is at no cap that anybody would raise.
const STANDING = `
  WITH standing AS (
    SELECT w.workspace_id, p.plan, p.monthly_cap AS cap, coalesce(u.used, 0) AS used, coalesce(u.held, 0) AS held
    FROM quota.plans p
    LEFT JOIN quota.workspaces w USING (plan)
    LEFT JOIN quota.usage u ON u.workspace_id = w.workspace_id AND u.month = date_trunc('month', now() AT TIME ZONE 'UTC')::date
  )`;

const BY_PLAN = `${STANDING}
  SELECT plan, count(workspace_id)::integer AS workspaces,
         coalesce(sum(cap) FILTER (WHERE workspace_id IS NOT NULL), 0)::bigint AS cap,
         sum(used)::bigint AS used, sum(held)::bigint AS held,
         count(workspace_id) FILTER (WHERE cap > 0 AND used >= cap * $1::float8)::integer AS near,
         count(workspace_id) FILTER (WHERE cap > 0 AND used >= cap)::integer AS full
  FROM standing GROUP BY plan`;

const NEAR = `${STANDING}
  SELECT workspace_id AS "workspaceId", plan, used::float8 / cap AS ratio
  FROM standing WHERE cap > 0 AND used >= cap * $1::float8 AND workspace_id IS NOT NULL
  ORDER BY ratio DESC, workspace_id LIMIT $2`;

/** Every plan, and the workspaces that have used at least `share` of their cap: of them the first `limit`. */
export async function readStanding(
  database: Database,
  { share, limit }: { share: number; limit: number },
): Promise<{ plans: PlanStanding[]; near: NearWorkspace[] }> {
  const [plans, near] = await Promise.all([
    database.query<PlanStanding>(BY_PLAN, [share]),
    database.query<NearWorkspace>(NEAR, [share, limit]),
  ]);
  return { plans: plans.rows, near: near.rows };
}

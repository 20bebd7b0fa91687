import type { Queryable } from "@parley/service-kit";
import { WITH_WORKSPACES_CTE } from "./workspaces.store.ts";

/** `cost` is approximate, in the currency of the prices. */
export type WorkspaceCost = { workspaceId: string; cost: number };

// The lateral join reads the calls of one day by an index of each workspace. No index has the time alone.
const TOP_COSTS = `
  ${WITH_WORKSPACES_CTE}
  SELECT sums.* FROM workspaces workspace
  CROSS JOIN LATERAL (
    SELECT workspace.id AS "workspaceId", sum(cost)::float8 AS cost
    FROM llm.calls
    WHERE workspace_id = workspace.id AND created_at >= now() - interval '1 day'
  ) sums
  WHERE sums.cost > 0
  ORDER BY sums.cost DESC, sums."workspaceId"
  LIMIT $1`;

/** Lists the `limit` workspaces whose generations of the last 24 hours cost most, highest first. Leaves out workspaces without cost. */
export async function listTopCosts(database: Queryable, limit: number): Promise<WorkspaceCost[]> {
  const { rows } = await database.query<WorkspaceCost>(TOP_COSTS, [limit]);
  return rows;
}

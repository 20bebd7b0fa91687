import type { Queryable } from "@parley/service-kit";

/** What the generations of a turn cost. `cost` is a decimal; null if a model that used tokens has no price. */
export type TurnCost = { turnId: string; cost: string | null; tokensCached: number };

const LIST = `
  SELECT turn_id AS "turnId", sum(tokens_cached)::integer AS "tokensCached",
         CASE WHEN count(*) FILTER (WHERE cost IS NULL AND tokens_in + tokens_out > 0) = 0 THEN coalesce(sum(cost), 0)::text END AS cost
  FROM llm.calls WHERE workspace_id = $1 AND turn_id = ANY($2::uuid[]) GROUP BY turn_id`;

export async function listTurnCosts(
  database: Queryable,
  workspaceId: string,
  turnIds: readonly string[],
): Promise<TurnCost[]> {
  const { rows } = await database.query<TurnCost>({
    name: "list-turn-costs",
    text: LIST,
    values: [workspaceId, turnIds],
  });
  return rows;
}

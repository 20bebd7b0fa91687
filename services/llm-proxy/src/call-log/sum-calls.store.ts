import type { Queryable } from "@parley/service-kit";
import { monthEndSql, monthStartSql } from "./calls.store.ts";
import { WITH_WORKSPACES_CTE } from "./workspaces.store.ts";

/** The sums of one workspace's calls of a month. A call is a row of the call log: one generation. */
export type CallSum = {
  workspaceId: string;
  calls: number;
  tokensIn: number;
  tokensOut: number;
  tokensCached: number;
  /** The sum of the known costs, as a decimal. */
  cost: string;
  /** Calls that used tokens of a model without a price. */
  unpricedCalls: number;
  /** Calls whose tokens the llm-proxy counted itself, because the provider reported none, and calls whose row the RPC FillCallLog added. */
  estimatedCalls: number;
};

// A call belongs to the month of its turn's reservation, as the turn's usage does. Without a reservation, it belongs to the month in
// which it started.
const SUM = `
  ${WITH_WORKSPACES_CTE}
  SELECT sums.* FROM (
    SELECT id FROM workspaces WHERE $2::text[] IS NULL
    UNION ALL SELECT unnest($2::text[])
  ) workspace
  CROSS JOIN LATERAL (
    SELECT workspace.id AS "workspaceId", count(*) AS calls,
           coalesce(sum(tokens_in), 0)::bigint AS "tokensIn", coalesce(sum(tokens_out), 0)::bigint AS "tokensOut",
           coalesce(sum(tokens_cached), 0)::bigint AS "tokensCached",
           coalesce(sum(cost), 0)::text AS cost, count(*) FILTER (WHERE estimated) AS "estimatedCalls",
           count(*) FILTER (WHERE cost IS NULL AND tokens_in + tokens_out > 0) AS "unpricedCalls"
    FROM llm.calls
    WHERE workspace_id = workspace.id
      AND (month = $1 OR (month IS NULL AND created_at >= ${monthStartSql("$1")} AND created_at < ${monthEndSql("$1")}))
  ) sums
  WHERE sums.calls > 0
  ORDER BY sums."workspaceId"`;

/**
 * Sums the calls of a UTC month ("YYYY-MM") per workspace. If `workspaceIds` is undefined, covers all workspaces. Leaves out workspaces without
 * a call in that month.
 */
export async function sumCalls(
  database: Queryable,
  month: string,
  workspaceIds: readonly string[] | undefined,
): Promise<CallSum[]> {
  const { rows } = await database.query<CallSum>(SUM, [month, workspaceIds ?? null]);
  return rows;
}

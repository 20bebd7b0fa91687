import type { Queryable } from "@parley/service-kit";
import { monthEnd, monthStart } from "./calls.store.ts";
import { EVERY_WORKSPACE } from "./workspaces.store.ts";

/** What one workspace's calls of a month add up to. */
export type CallSum = {
  workspaceId: string;
  calls: number;
  tokensIn: number;
  tokensOut: number;
  /** A decimal, of the calls with a price. */
  cost: string;
  /** Calls that used tokens and have no price. */
  unpricedCalls: number;
  estimatedCalls: number;
};

// A call is of the month its turn was reserved in, as the quota's books have it; without one of the month it began in.
const SUM = `
  ${EVERY_WORKSPACE}
  SELECT sums.* FROM (
    SELECT id FROM workspaces WHERE $2::text[] IS NULL
    UNION ALL SELECT unnest($2::text[])
  ) workspace
  CROSS JOIN LATERAL (
    SELECT workspace.id AS "workspaceId", count(*) AS calls,
           coalesce(sum(tokens_in), 0)::bigint AS "tokensIn", coalesce(sum(tokens_out), 0)::bigint AS "tokensOut",
           coalesce(sum(cost), 0)::text AS cost, count(*) FILTER (WHERE estimated) AS "estimatedCalls",
           count(*) FILTER (WHERE cost IS NULL AND tokens_in + tokens_out > 0) AS "unpricedCalls"
    FROM llm.calls
    WHERE workspace_id = workspace.id
      AND (month = $1 OR (month IS NULL AND created_at >= ${monthStart("$1")} AND created_at < ${monthEnd("$1")}))
  ) sums
  WHERE sums.calls > 0
  ORDER BY sums."workspaceId"`;

/** The sums of a UTC month ("YYYY-MM"), of the workspaces given or of each, as far as they made a call. */
export async function sumCalls(
  database: Queryable,
  month: string,
  workspaceIds: readonly string[] | undefined,
): Promise<CallSum[]> {
  const { rows } = await database.query<CallSum>(SUM, [month, workspaceIds ?? null]);
  return rows;
}

import type { Queryable } from "@parley/service-kit";
import { monthEnd, monthStart } from "./calls.store.ts";
import { EVERY_WORKSPACE } from "./workspaces.store.ts";

/** The sums over one workspace's generations of a month. */
export type CallSum = {
  workspaceId: string;
  calls: number;
  tokensIn: number;
  tokensOut: number;
  /** A decimal; the sum over the generations whose model has a price. */
  cost: string;
  /** Generations that used tokens of a model without a price. */
  unpricedCalls: number;
  estimatedCalls: number;
};

// A generation counts for the month that its turn was reserved in, like the turn's usage; without a reservation, for the month it started in.
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

/** Sums a UTC month ("YYYY-MM") for the given workspaces, or for every workspace. Leaves out workspaces without a generation in it. */
export async function sumCalls(
  database: Queryable,
  month: string,
  workspaceIds: readonly string[] | undefined,
): Promise<CallSum[]> {
  const { rows } = await database.query<CallSum>(SUM, [month, workspaceIds ?? null]);
  return rows;
}

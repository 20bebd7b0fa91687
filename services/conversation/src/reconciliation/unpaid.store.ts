import type { Database } from "@parley/service-kit";

/** The unpaid replies of a workspace on a day, and how many of them are no longer in the outbox. */
export type UnpaidTurns = { workspaceId: string; closed: number; settled: number };

// A scalar subquery, because for a join PostgreSQL may read the whole outbox, which is large after an outage.
const COUNT_UNPAID = `
  SELECT t.workspace_id AS "workspaceId", count(*)::integer AS closed,
         (count(*) FILTER (WHERE (
           SELECT true FROM conversation.outbox o WHERE o.workspace_id = t.workspace_id AND o.turn_id = t.turn_id) IS NULL))::integer AS settled
  FROM conversation.turns t
  WHERE t.unpaid_day = $1::date AND ($2 = '' OR t.workspace_id = $2)
  GROUP BY t.workspace_id`;

/** Counts the unpaid replies of a UTC day ("YYYY-MM-DD") in one or, if the workspace id is empty, all workspaces that have any. */
export async function countUnpaidTurns(database: Database, day: string, workspaceId: string): Promise<UnpaidTurns[]> {
  const { rows } = await database.query<UnpaidTurns>({
    name: "count_unpaid_turns",
    text: COUNT_UNPAID,
    values: [day, workspaceId],
  });
  return rows;
}

import type { Database } from "@parley/service-kit";
import { WITH_WORKSPACES_CTE } from "./workspaces.store.ts";

const LIST_EXPIRED = `
  ${WITH_WORKSPACES_CTE}
  SELECT id FROM workspaces
  WHERE EXISTS (
    SELECT FROM llm.calls c WHERE c.workspace_id = id AND c.created_at < now() - make_interval(days => $1)
  )`;

/** Lists the workspaces that have calls older than `days` days. */
export async function listWorkspacesWithExpiredCalls(database: Database, days: number): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(LIST_EXPIRED, [days]);
  return rows.map((row) => row.id);
}

const DELETE_EXPIRED = `
  DELETE FROM llm.calls
  WHERE workspace_id = $1 AND call_id IN (
    SELECT c.call_id FROM llm.calls c
    WHERE c.workspace_id = $1 AND c.created_at < now() - make_interval(days => $2)
    ORDER BY c.created_at, c.call_id
    LIMIT $3
  )`;

/** Deletes at most `limit` of a workspace's calls that are older than `days` days, the oldest first. Returns how many it deleted. */
export async function deleteExpiredCalls(
  database: Database,
  workspaceId: string,
  days: number,
  limit: number,
): Promise<number> {
  const { rowCount } = await database.query(DELETE_EXPIRED, [workspaceId, days, limit]);
  return rowCount ?? 0;
}

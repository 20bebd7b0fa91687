import type { Database } from "@parley/service-kit";
import type { DoneTurns } from "./reconcile.ts";

const COUNT_DONE = `
  SELECT workspace_id AS id, count(*) AS done,
         bit_xor(('x' || left(md5(turn_id::text), 16))::bit(64)::bigint)::text AS digest
  FROM conversation.turns
  WHERE status = 'done' AND month = to_date($1, 'YYYY-MM') AND ($2 = '' OR workspace_id = $2)
  GROUP BY workspace_id`;

/** Counts the done turns of a UTC month ("YYYY-MM") by workspace. An empty workspace id means every workspace. */
export async function countDoneTurns(database: Database, workspaceId: string, month: string): Promise<DoneTurns[]> {
  const { rows } = await database.query<{ id: string; done: number; digest: string }>(COUNT_DONE, [month, workspaceId]);
  return rows.map(({ id, done, digest }) => ({ workspaceId: id, done, digest: BigInt(digest) }));
}

const LIST_DONE = `
  SELECT t.turn_id AS id, o.turn_id IS NOT NULL AS "isInOutbox"
  FROM conversation.turns t
  LEFT JOIN conversation.outbox o USING (workspace_id, turn_id)
  WHERE t.workspace_id = $1 AND t.month = to_date($2, 'YYYY-MM') AND t.status = 'done'`;

/** Returns a workspace's done turns of a month, and those of them that are no longer in the outbox. */
export async function listDoneTurns(
  database: Database,
  workspaceId: string,
  month: string,
): Promise<{ done: Set<string>; settled: Set<string> }> {
  const { rows } = await database.query<{ id: string; isInOutbox: boolean }>(LIST_DONE, [workspaceId, month]);
  return {
    done: new Set(rows.map((row) => row.id)),
    settled: new Set(rows.filter((row) => !row.isInOutbox).map((row) => row.id)),
  };
}

/** Returns those of the turns that were ever opened. */
export async function findOpenedTurns(
  database: Database,
  workspaceId: string,
  turnIds: readonly string[],
): Promise<Set<string>> {
  const { rows } = await database.query<{ id: string }>(
    "SELECT turn_id AS id FROM conversation.turns WHERE workspace_id = $1 AND turn_id = ANY ($2::uuid[])",
    [workspaceId, turnIds],
  );
  return new Set(rows.map((row) => row.id));
}

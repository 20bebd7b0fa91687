import type { Database } from "@parley/service-kit";
import type { DoneTurnTotals } from "./reconcile.ts";

const COUNT_DONE = `
  SELECT workspace_id AS id, sum(turns)::bigint AS done, bit_xor(digest)::text AS digest, sum(pruned)::bigint AS pruned
  FROM (
    SELECT workspace_id, count(*) AS turns, bit_xor(('x' || left(md5(turn_id::text), 16))::bit(64)::bigint) AS digest, 0 AS pruned
    FROM conversation.turns
    WHERE status = 'done' AND month = to_date($1, 'YYYY-MM') AND workspace_id = $2
    GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, turns, digest, turns
    FROM conversation.turn_totals
    WHERE month = to_date($1, 'YYYY-MM') AND workspace_id = $2
  ) part
  GROUP BY workspace_id`;

type DoneRow = { id: string; done: number; digest: string; pruned: number };

function toDoneTurnTotals({ id, done, digest, pruned }: DoneRow): DoneTurnTotals {
  return { workspaceId: id, done, digest: BigInt(digest), pruned };
}

/** Counts the done turns of a workspace in a UTC month ("YYYY-MM"), pruned ones included. Returns an empty list if there are none. */
export async function countDoneTurns(
  database: Database,
  workspaceId: string,
  month: string,
): Promise<DoneTurnTotals[]> {
  const { rows } = await database.query<DoneRow>(COUNT_DONE, [month, workspaceId]);
  return rows.map(toDoneTurnTotals);
}

const nextWorkspace = (after: string) => `
  least(
    (SELECT min(t.workspace_id) FROM conversation.turns t
     WHERE t.status = 'done' AND t.month = to_date($1, 'YYYY-MM') AND t.workspace_id > ${after}),
    (SELECT min(p.workspace_id) FROM conversation.turn_totals p
     WHERE p.month = to_date($1, 'YYYY-MM') AND p.workspace_id > ${after})
  )`;

// A skip scan: steps from one workspace to the next in the index turns_done and in turn_totals. Reads only the turns of the page's workspaces.
const COUNT_DONE_PAGE = `
  WITH RECURSIVE page (workspace_id, number) AS (
    SELECT ${nextWorkspace("$2")}, 1
    UNION ALL
    SELECT ${nextWorkspace("page.workspace_id")}, page.number + 1
    FROM page WHERE page.workspace_id IS NOT NULL AND page.number < $3
  )
  SELECT p.workspace_id AS id, counted.done + coalesce(total.turns, 0) AS done, coalesce(total.turns, 0)::bigint AS pruned,
         (coalesce(counted.digest, 0) # coalesce(total.digest, 0))::text AS digest
  FROM page p CROSS JOIN LATERAL (
    SELECT count(*) AS done, bit_xor(('x' || left(md5(t.turn_id::text), 16))::bit(64)::bigint) AS digest
    FROM conversation.turns t
    WHERE t.status = 'done' AND t.month = to_date($1, 'YYYY-MM') AND t.workspace_id = p.workspace_id
  ) counted
  LEFT JOIN conversation.turn_totals total ON total.workspace_id = p.workspace_id AND total.month = to_date($1, 'YYYY-MM')
  WHERE p.workspace_id IS NOT NULL
  ORDER BY p.workspace_id`;

/** Counts the done turns of a UTC month for the next `limit` workspaces that have any: those with the lowest ids above `after`, in order. */
export async function countDoneTurnsOfPage(
  database: Database,
  month: string,
  { after, limit }: { after: string; limit: number },
): Promise<DoneTurnTotals[]> {
  const { rows } = await database.query<DoneRow>(COUNT_DONE_PAGE, [month, after, limit]);
  return rows.map(toDoneTurnTotals);
}

/** Returns the distinct ids in the order in which this database sorts text, which depends on its collation. */
export async function sortDistinctIds(database: Database, ids: readonly string[]): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    "SELECT DISTINCT id FROM unnest($1::text[]) AS id ORDER BY id",
    [ids],
  );
  return rows.map(({ id }) => id);
}

const LIST_DONE = `
  SELECT t.turn_id AS id, o.turn_id IS NOT NULL AS "isInOutbox"
  FROM conversation.turns t
  LEFT JOIN conversation.outbox o USING (workspace_id, turn_id)
  WHERE t.workspace_id = $1 AND t.month = to_date($2, 'YYYY-MM') AND t.status = 'done'`;

/** Returns a workspace's done turns of a month that were not pruned. `settled` has those that are no longer in the outbox. */
export async function listDoneTurnIds(
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

const FIND_OPENED = `
  SELECT t.turn_id AS id,
         t.status <> 'streaming'
         AND NOT EXISTS (SELECT FROM conversation.outbox o WHERE o.workspace_id = t.workspace_id AND o.turn_id = t.turn_id) AS "hasLeftOutbox"
  FROM conversation.turns t
  WHERE t.workspace_id = $1 AND t.turn_id = ANY ($2::uuid[])`;

/** Of the given turns, returns those that were opened and are not pruned. `goneFromOutbox` has those that are also closed and not in the outbox. */
export async function findOpenedTurns(
  database: Database,
  workspaceId: string,
  turnIds: readonly string[],
): Promise<{ opened: Set<string>; goneFromOutbox: string[] }> {
  const { rows } = await database.query<{ id: string; hasLeftOutbox: boolean }>(FIND_OPENED, [workspaceId, turnIds]);
  return {
    opened: new Set(rows.map((row) => row.id)),
    goneFromOutbox: rows.filter((row) => row.hasLeftOutbox).map((row) => row.id),
  };
}

import type { Client } from "./connect.ts";

/** The usage of a shard: the counted messages, the holds, and the workspace months whose usage differs from the ledger or the reservations. */
export type Usage = { months: number; used: number; held: number; differences: number };

const READ_USAGE = `
  WITH ledger AS (
    SELECT workspace_id, month, sum(amount) AS turns FROM (
      SELECT workspace_id, month, 1 AS amount FROM quota.ledger
      UNION ALL SELECT workspace_id, month, turns FROM quota.ledger_totals
      UNION ALL SELECT workspace_id, month, amount FROM quota.adjustments
    ) AS entry GROUP BY workspace_id, month
  ), holds AS (
    SELECT workspace_id, month, count(*) AS turns FROM quota.reservations WHERE state = 'held' GROUP BY workspace_id, month
  )
  SELECT count(*)::integer AS months, coalesce(sum(u.used), 0)::integer AS used, coalesce(sum(u.held), 0)::integer AS held,
         (count(*) FILTER (WHERE coalesce(u.used, 0) <> coalesce(l.turns, 0) OR coalesce(u.held, 0) <> coalesce(h.turns, 0)))::integer AS differences
  FROM quota.usage AS u FULL JOIN ledger AS l USING (workspace_id, month) FULL JOIN holds AS h USING (workspace_id, month)`;

/** Compares usage with the ledger and the reservations, in one snapshot. Reads the whole ledger, so it takes seconds on a large shard. */
export async function readUsage(client: Client): Promise<Usage> {
  const { rows } = await client.query<Usage>(READ_USAGE);
  return rows[0] ?? { months: 0, used: 0, held: 0, differences: 0 };
}

const READ_COUNTS = `
  SELECT (SELECT count(*) FROM quota.workspaces)::integer AS workspaces,
         (SELECT count(*) FROM quota.usage)::integer AS months,
         (SELECT coalesce(sum(used), 0) FROM quota.usage)::integer AS used,
         (SELECT coalesce(sum(held), 0) FROM quota.usage)::integer AS held,
         (SELECT count(*) FROM quota.reservations WHERE state = 'held')::integer AS reservations,
         (SELECT count(*) FROM conversation.outbox)::integer AS outbox,
         (SELECT count(*) FROM conversation.bots)::integer AS bots,
         (SELECT count(*) FROM conversation.api_keys)::integer AS keys`;

/** Counts that are equal in a shard and in its copy. Reads small tables only, because visitors wait during this comparison. */
export async function readCounts(client: Client): Promise<Record<string, number>> {
  const { rows } = await client.query<Record<string, number>>(READ_COUNTS);
  return rows[0] ?? {};
}

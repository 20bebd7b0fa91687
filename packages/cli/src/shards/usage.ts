import { listTables, type Table } from "./catalog.ts";
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
  SELECT count(*)::float8 AS months, coalesce(sum(u.used), 0)::float8 AS used, coalesce(sum(u.held), 0)::float8 AS held,
         (count(*) FILTER (WHERE coalesce(u.used, 0) <> coalesce(l.turns, 0) OR coalesce(u.held, 0) <> coalesce(h.turns, 0)))::float8 AS differences
  FROM quota.usage AS u FULL JOIN ledger AS l USING (workspace_id, month) FULL JOIN holds AS h USING (workspace_id, month)`;

/** Compares usage with the ledger and the reservations, in one snapshot. Reads the whole ledger, so it takes seconds on a large shard. */
export async function readUsage(client: Client): Promise<Usage> {
  const { rows } = await client.query<Usage>(READ_USAGE);
  return rows[0] ?? { months: 0, used: 0, held: 0, differences: 0 };
}

const READ_SUMS = `
  SELECT coalesce(sum(used), 0)::float8 AS used, coalesce(sum(held), 0)::float8 AS held FROM quota.usage`;

/** Counts by name: the rows of the tables, and the counted messages and holds. */
export type Counts = Readonly<Record<string, number>>;

/** Counts what must be equal in a database and in its copy. */
export async function readCounts(client: Client, tables: readonly Table[]): Promise<Counts> {
  const { rows } = await client.query<Record<string, number>>(READ_SUMS);
  return { ...rows[0], ...(await countRows(client, tables)) };
}

/** Counts the rows of tables. */
export async function countRows(client: Client, tables: readonly Table[]): Promise<Counts> {
  const counts = tables.map(({ name }) => `(SELECT count(*) FROM ${name})::float8`);
  const { rows } = await client.query<{ counts: number[] }>(`SELECT ARRAY[${counts.join(", ")}]::float8[] AS counts`);
  return Object.fromEntries(tables.map(({ name }, index) => [name, rows[0]?.counts[index] ?? 0]));
}

/** Returns the counts that differ, as `name: copied instead of expected`. */
export function compareCounts(expected: Counts, copied: Counts): string[] {
  return Object.entries(expected).flatMap(([name, count]) =>
    count === copied[name] ? [] : [`${name}: ${copied[name]} instead of ${count}`],
  );
}

/** Visitors wait while rows are counted, so large tables are not. */
const MAX_COUNTED_BYTES = 8 * 1024 * 1024;

/** Lists the tables whose rows are counted quickly. */
export async function listSmallTables(client: Client): Promise<Table[]> {
  const tables = await listTables(client);
  const { rows } = await client.query<{ name: string }>(
    "SELECT name FROM unnest($1::text[]) AS name WHERE pg_relation_size(name::regclass) <= $2",
    [tables.map(({ name }) => name), MAX_COUNTED_BYTES],
  );
  return tables.filter((table) => rows.some(({ name }) => name === table.name));
}

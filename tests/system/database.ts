import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { queryRows, shardOf, type TestDatabase } from "@parley/test-support";

// These functions read and write the services' tables directly, as a superuser.

/** The database of a system. With shards, `url` leads to the sharded database behind the router, and `shardUrls` to each shard. */
export type Database = Pick<TestDatabase, "url"> & { shardUrls?: readonly string[] };

/** Returns the database that has a workspace's rows. Unlike the sharded database, it accepts statements without a workspace_id. */
export function databaseOf({ database }: { database: Database }, workspaceId: string): Pick<TestDatabase, "url"> {
  const { url, shardUrls } = database;
  return { url: shardUrls?.[shardOf(workspaceId, shardUrls.length)] ?? url };
}

/** Returns the databases that have a system's rows: one, or each shard. */
export function databasesOf({ url, shardUrls }: Database): Pick<TestDatabase, "url">[] {
  return (shardUrls ?? [url]).map((each) => ({ url: each }));
}

/** Counts of one workspace or of all workspaces. Once all turns are settled, `done`, `used` and `ledger` must be equal. */
export type Balance = {
  /** Turns with the status done, pruned ones included. */
  done: number;
  /** Replies counted in quota.usage. */
  used: number;
  /** Rows of the usage ledger, pruned ones included, plus adjustments. */
  ledger: number;
  held: number;
  streaming: number;
  /** Rows of the outbox: settlements that the quota service has not acknowledged. */
  outbox: number;
  /** Pairs of workspace and month that have holds, or whose done, used and ledger differ. */
  unbalanced: number;
};

const balanceSql = (condition: string) => `
  WITH turns AS (
    SELECT * FROM conversation.turns WHERE ${condition}
  ), usage AS (
    SELECT * FROM quota.usage WHERE ${condition}
  ), done AS (
    SELECT workspace_id, month, sum(turns) AS n FROM (
      SELECT workspace_id, month, 1 AS turns FROM turns WHERE status = 'done'
      UNION ALL SELECT workspace_id, month, turns FROM conversation.turn_totals WHERE ${condition}
    ) part GROUP BY 1, 2
  ), ledger AS (
    SELECT workspace_id, month, sum(amount) AS n FROM (
      SELECT workspace_id, month, 1 AS amount FROM quota.ledger
      UNION ALL SELECT workspace_id, month, turns FROM quota.ledger_totals
      UNION ALL SELECT workspace_id, month, amount FROM quota.adjustments
    ) entry
    WHERE ${condition} GROUP BY 1, 2
  ), counts AS (
    SELECT coalesce(d.n, 0) AS done, coalesce(u.used, 0) AS used, coalesce(u.held, 0) AS held, coalesce(l.n, 0) AS ledger
    FROM done d FULL JOIN usage u USING (workspace_id, month) FULL JOIN ledger l USING (workspace_id, month)
  )
  SELECT coalesce(sum(done), 0)::integer AS done, coalesce(sum(used), 0)::integer AS used,
         coalesce(sum(ledger), 0)::integer AS ledger, coalesce(sum(held), 0)::integer AS held,
         (SELECT count(*) FROM turns WHERE status = 'streaming')::integer AS streaming,
         (SELECT count(*) FROM conversation.outbox WHERE ${condition})::integer AS outbox,
         (count(*) FILTER (WHERE done <> used OR used <> ledger OR held <> 0))::integer AS unbalanced
  FROM counts`;

export async function readBalance(database: Database, workspaceId?: string): Promise<Balance> {
  if (workspaceId !== undefined)
    return queryFirstRow<Balance>(database, balanceSql("workspace_id = $1"), [workspaceId]);
  const balances = await Promise.all(
    databasesOf(database).map((each) => queryFirstRow<Balance>(each, balanceSql("true"))),
  );
  return balances.reduce((sum, balance) => {
    const fields = Object.keys(sum) as (keyof Balance)[];
    return Object.fromEntries(fields.map((field) => [field, sum[field] + balance[field]])) as Balance;
  });
}

/**
 * Waits until no holds, no streaming turns and no outbox rows are left, and returns the balance. After `timeoutMs`, returns the balance
 * anyway. Until then, retries errors, because the database may be restarting.
 */
export async function waitUntilSettled(database: Database, timeoutMs: number, workspaceId?: string): Promise<Balance> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const isLate = performance.now() > deadline;
    const balance = await readBalance(database, workspaceId).catch((error: unknown) => {
      if (isLate) throw error;
      return undefined;
    });
    const isSettled = balance?.held === 0 && balance.streaming === 0 && balance.outbox === 0;
    if (balance && (isSettled || isLate)) return balance;
    await sleep(250);
  }
}

/** With shards, the first value is the id of the workspace on whose shard the statement runs. Without values, it runs on the sharded database. */
export async function queryFirstRow<T extends object>(database: Database, sql: string, values?: unknown[]): Promise<T> {
  const { url } = typeof values?.[0] === "string" ? databaseOf({ database }, values[0]) : database;
  const [row] = await queryRows<T>(url, sql, values);
  return row as T;
}

export type TableCopies = {
  /** The name of each table's copy. */
  copies: Record<string, string>;
  /** Statements that restore the tables from the copies: they delete the rows that meet copyTables' `condition`, then insert the copied rows. */
  restoreSql: string;
};

/** Copies the rows that meet `condition` from tables of a schema, in one snapshot. */
export async function copyTables(
  database: Pick<TestDatabase, "url">,
  schema: string,
  tables: readonly string[],
  condition = "true",
): Promise<TableCopies> {
  const suffix = randomUUID().slice(0, 8);
  const copies = Object.fromEntries(tables.map((table) => [table, `copy_${table}_${suffix}`]));
  const forEachTable = (sql: (table: string, copy: string) => string) =>
    Object.entries(copies)
      .map(([table, copy]) => sql(`${schema}.${table}`, copy))
      .join("\n");
  const copyAll = forEachTable((table, copy) => `CREATE TABLE ${copy} AS SELECT * FROM ${table} WHERE ${condition};`);
  await queryFirstRow(database, `BEGIN ISOLATION LEVEL REPEATABLE READ; ${copyAll} COMMIT`);
  const restoreSql = forEachTable(
    (table, copy) => `DELETE FROM ${table} WHERE ${condition}; INSERT INTO ${table} SELECT * FROM ${copy};`,
  );
  return { copies, restoreSql };
}

/** Inserts a plan with SQL, because no admin RPC can create one. */
export async function createPlan(database: Database, plan: string, cap: number): Promise<void> {
  for (const { url } of databasesOf(database))
    await queryRows(url, "INSERT INTO quota.plans (plan, monthly_cap) VALUES ($1, $2)", [plan, cap]);
}

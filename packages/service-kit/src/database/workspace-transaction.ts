import { type Connection, type Database, type Queryable, transaction } from "./database.ts";

/**
 * Returns a statement that evaluates an SQL expression once, on the shard of the workspace `$1`. A router finds the shard by the condition on
 * workspace_id. `HAVING true` makes the result one row, whatever rows `table` has, so PostgreSQL does not read the table.
 */
export function onShardOfWorkspace(table: string, expression: string): string {
  return `SELECT ${expression} FROM ${table} WHERE workspace_id = $1 HAVING true`;
}

/** A workspace and any table with the column workspace_id. A router needs both to find the shard of a transaction by its first statement. */
export type WorkspaceKey = { table: string; workspaceId: string };

/**
 * Runs `work` in a transaction. Transactions of this kind run one at a time in each workspace. So if `work` inserts a row only when the number of
 * rows is below a limit, concurrent calls cannot exceed that limit.
 */
export function workspaceTransaction<T>(
  database: Database,
  { table, workspaceId }: WorkspaceKey,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const lock = onShardOfWorkspace(table, "pg_advisory_xact_lock(hashtext('parley.workspace'), hashtext($1))");
  return transaction(database, async (connection) => {
    // Takes the lock in its own statement, so that the statements of `work` see the rows that earlier holders of the lock committed.
    await connection.query(lock, [workspaceId]);
    return work(connection);
  });
}

/** Changes a setting of the server until the end of the transaction. */
export async function setLocal(
  connection: Queryable,
  { table, workspaceId }: WorkspaceKey,
  setting: "enable_sort" | "lock_timeout" | "statement_timeout",
  value: string,
): Promise<void> {
  await connection.query(onShardOfWorkspace(table, `set_config('${setting}', '${value}', true)`), [workspaceId]);
}

/**
 * For a transaction that reads the first rows in some order (ORDER BY … LIMIT). Makes PostgreSQL read them from an index that has this order.
 * PostgreSQL underestimates how many rows a bot or a visitor has, so without this setting it may read and sort all of them.
 */
export function avoidSort(connection: Queryable, key: WorkspaceKey): Promise<void> {
  return setLocal(connection, key, "enable_sort", "off");
}

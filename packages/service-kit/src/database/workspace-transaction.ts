import { type Connection, type Database, transaction } from "./database.ts";

/**
 * Runs `work` in a transaction. Transactions of this kind run one at a time in each workspace. So if `work` inserts a row only when the number of
 * rows is below a limit, concurrent calls cannot exceed that limit.
 */
export function workspaceTransaction<T>(
  database: Database,
  workspaceId: string,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  return transaction(database, async (connection) => {
    // Takes the lock in its own statement, so that the statements of `work` see the rows that earlier holders of the lock committed.
    await connection.query("SELECT pg_advisory_xact_lock(hashtext('parley.workspace'), hashtext($1))", [workspaceId]);
    return work(connection);
  });
}

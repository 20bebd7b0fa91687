import { type Database, type Logger, pause } from "@parley/service-kit";
import { deleteExpiredCalls, listWorkspacesWithExpiredCalls } from "./retention.store.ts";

/** Rows per statement, so that a statement takes only milliseconds. */
const BATCH_ROWS = 1_000;
/** Leaves most of the database's time to other queries. */
const BATCH_PAUSE_MS = 50;

export type RetentionOptions = {
  database: Database;
  /** Rows older than this are deleted. */
  days: number;
  log: Logger;
  batchRows?: number;
};

/**
 * Deletes expired rows in batches until none is left or the signal is aborted. Returns the number of deleted rows. Replicas may call this
 * concurrently.
 */
export async function deleteOldCalls(options: RetentionOptions, signal: AbortSignal): Promise<number> {
  const { database, days, log, batchRows = BATCH_ROWS } = options;
  let deleted = 0;
  for (const workspaceId of await listWorkspacesWithExpiredCalls(database, days)) {
    for (let count = batchRows; count === batchRows && !signal.aborted; ) {
      count = await deleteExpiredCalls(database, workspaceId, days, batchRows);
      deleted += count;
      await pause(BATCH_PAUSE_MS, signal);
    }
  }
  if (deleted > 0) log.info({ rows: deleted }, "expired call log rows deleted");
  return deleted;
}

import { type Database, type Logger, pause } from "@parley/service-kit";
import { deleteExpiredCalls, listExpiredWorkspaces } from "./retention.store.ts";

/** Rows deleted in one statement: few enough that it takes milliseconds. */
const BATCH = 1_000;
/** Between two statements, so that the database is left to others most of the time. */
const PAUSE_MS = 50;

export type LedgerRetentionOptions = {
  database: Database;
  /** Days that the ledger keeps a call. */
  days: number;
  log: Logger;
  batch?: number;
};

/**
 * Deletes the calls that are older than the ledger keeps them, a few at a time, until none is left or the signal comes. Replicas may do it
 * at once. Answers with the number of calls deleted.
 */
export async function deleteOldCalls(options: LedgerRetentionOptions, signal: AbortSignal): Promise<number> {
  const { database, days, log, batch = BATCH } = options;
  let deleted = 0;
  for (const workspaceId of await listExpiredWorkspaces(database, days)) {
    for (let count = batch; count === batch && !signal.aborted; ) {
      count = await deleteExpiredCalls(database, workspaceId, days, batch);
      deleted += count;
      await pause(PAUSE_MS, signal);
    }
  }
  if (deleted > 0) log.info({ calls: deleted }, "deleted calls that the ledger keeps no longer");
  return deleted;
}

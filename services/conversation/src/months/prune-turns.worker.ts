import type { Counter, Database, Logger } from "@parley/service-kit";
import { createTask } from "../leases/index.ts";
import {
  deleteUncountedTurns,
  findMonthToPrune,
  findWorkspaceToPrune,
  hasUncountedTurns,
  markMonthPruned,
  pruneTurns,
} from "./prune.store.ts";

const TASK = "prune turns";
const LEASE_SECONDS = 120;
const EVERY_SECONDS = 3_600;
const ROWS_PER_STATEMENT = 2_000;
/** Bounds a run to 2 million turns. */
const BATCHES_PER_RUN = 1_000;

export type PruneTurnsDeps = {
  database: Database;
  /** The turns of a closed month are kept for this many months after its end; 0 keeps them forever. */
  retentionMonths: number;
  prunedRows: Counter<"table">;
  log: Logger;
};

/**
 * Returns a function that replaces the done turns of old closed months by their totals. It also deletes the uncounted turns (closed, but not
 * done) that were closed before the end of such a month. Replicas may call it concurrently: only one works at a time.
 */
export function createPruneTurnsTask(deps: PruneTurnsDeps): (signal: AbortSignal) => Promise<void> {
  const { database, retentionMonths, prunedRows, log } = deps;
  const options = { task: TASK, leaseSeconds: LEASE_SECONDS, everySeconds: EVERY_SECONDS };
  const prune = createTask(database, options, async ({ signal, saveProgress }) => {
    for (let batch = 0; batch < BATCHES_PER_RUN; batch++) {
      signal.throwIfAborted();
      // Renews the lease.
      await saveProgress({});
      const month = await findMonthToPrune(database, retentionMonths);
      if (month === undefined) break;
      const workspaceId = await findWorkspaceToPrune(database, month);
      const turns =
        workspaceId === undefined
          ? await deleteUncountedTurns(database, month, ROWS_PER_STATEMENT)
          : await pruneTurns(database, { workspaceId, month, limit: ROWS_PER_STATEMENT });
      prunedRows.inc({ table: "turns" }, turns);
      if (turns > 0) continue;
      // Other transactions have locked the remaining turns. The next run prunes them.
      if (workspaceId !== undefined || (await hasUncountedTurns(database, month))) break;
      await markMonthPruned(database, month);
      log.info({ month }, "turns of month pruned");
    }
    return true;
  });
  return async (signal) => {
    if (retentionMonths > 0) await prune(signal);
  };
}

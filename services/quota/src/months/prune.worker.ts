import type { Counter, Logger, Shard } from "@parley/service-kit";
import { pruneEvents } from "../events/index.ts";
import { addMonths, listKnownMonths } from "./months.store.ts";
import {
  findMonthToPrune,
  findNextWorkspace,
  markMonthPruned,
  pruneLedger,
  pruneVoidReservations,
} from "./prune.store.ts";

/** Void reservations are deleted this many days after they were settled. By then, no call reserves or settles their turns any more. */
const VOID_DAYS = 7;
/** Events are deleted after this many days. */
const EVENT_DAYS = 90;
/** Bounds the duration of a statement. */
const BATCH_ROWS = 2_000;
/** Limits rows, not batches, so that the empty batches of workspaces that earlier runs have pruned do not use up the limit. */
const ROWS_PER_RUN = 2_000_000;

export type PruneDeps = {
  shards: readonly Shard[];
  /** How long the rows of a closed month are kept, in months after its end; 0 keeps them without limit. */
  retentionMonths: number;
  prunedRows: Counter<"table">;
  log: Logger;
};

/**
 * Works on one shard. Adds new months to quota.months, so that they can be closed later: also those without usage on this shard, so that a late
 * Settle finds each closed month closed. Deletes old void reservations, and replaces the rows of old closed months with totals. Ends early if
 * another replica is pruning.
 */
export async function pruneUsage(deps: PruneDeps, { number, database }: Shard, signal: AbortSignal): Promise<void> {
  const { retentionMonths, prunedRows, log } = deps;
  await addMonths(database, await listMonthsOfOthers(deps, number));
  let rowsOfRun = 0;
  /** Returns false if the run must end. `prune` returns null if another replica is pruning. */
  const pruneAll = async (table: string, prune: () => Promise<number | null>) => {
    while (rowsOfRun < ROWS_PER_RUN && !signal.aborted) {
      const rows = await prune();
      if (rows === null) return false;
      rowsOfRun += rows;
      prunedRows.inc({ table }, rows);
      if (rows < BATCH_ROWS) return true;
    }
    return false;
  };
  const pruneVoids = () => pruneVoidReservations(database, { minAgeDays: VOID_DAYS, limit: BATCH_ROWS });
  if (!(await pruneAll("reservations", pruneVoids))) return;
  if (!(await pruneAll("events", () => pruneEvents(database, { days: EVENT_DAYS, limit: BATCH_ROWS })))) return;
  if (retentionMonths === 0) return;
  for (;;) {
    const month = await findMonthToPrune(database, retentionMonths);
    if (month === undefined) return;
    let workspaceId = await findNextWorkspace(database, month, "");
    while (workspaceId !== undefined) {
      const batch = { workspaceId, month, limit: BATCH_ROWS };
      if (!(await pruneAll("ledger", () => pruneLedger(database, batch)))) return;
      workspaceId = await findNextWorkspace(database, month, workspaceId);
    }
    await markMonthPruned(database, month);
    log.info({ month, shard: number }, "usage ledger of month pruned");
  }
}

/** Returns the months of the other shards. Leaves out a shard that does not respond; a later run adds its months. */
async function listMonthsOfOthers({ shards, log }: PruneDeps, shard: number): Promise<string[]> {
  const others = shards.filter(({ number }) => number !== shard);
  const lists = await Promise.all(
    others.map(({ number, database }) =>
      listKnownMonths(database).catch((error: unknown) => {
        log.warn({ shard: number, error }, "months of shard not read");
        return [];
      }),
    ),
  );
  return [...new Set(lists.flat())];
}

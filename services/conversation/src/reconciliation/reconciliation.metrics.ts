import {
  Counter,
  type Logger,
  type Registry,
  registerShardGauges,
  type Shard,
  shardLabelNames,
  shardLabels,
} from "@parley/service-kit";
import { REPAIR_KINDS, type RepairKind } from "./reconcile.service.ts";
import { measureCallLog, measureReconciliation } from "./reconciliation.worker.ts";

/** Returns a function that counts a repair of a shard's usage. */
export function createRepairCounter(
  registry: Registry,
  shards: readonly Shard[],
): (kind: RepairKind, shard: number) => void {
  const counter = new Counter({
    name: "parley_reconciliation_repairs_total",
    help: "Repaired differences between turns and usage, by kind.",
    labelNames: ["kind", ...shardLabelNames(shards)],
    registers: [registry],
  });
  const count = (kind: RepairKind, shard: number, repairs = 1) =>
    counter.inc({ kind, ...shardLabels(shards, shard) }, repairs);
  // Start each series at 0: rate() ignores the first value of a series.
  for (const { number } of shards) for (const kind of REPAIR_KINDS) count(kind, number, 0);
  return count;
}

/** Every replica, not only the one that reconciles, reports the same values. */
export function registerReconciliationGauges(registry: Registry, shards: readonly Shard[], log: Logger): void {
  registerShardGauges(
    registry,
    {
      lagSeconds: {
        name: "parley_reconciliation_lag_seconds",
        help: "Upper bound for the age of the oldest closed turn that has not been compared with usage yet; NaN before the first run.",
      },
      lastSuccessSeconds: {
        name: "parley_reconciliation_last_success_timestamp_seconds",
        help: "Time of the last complete run of the reconciliation, in seconds since 1970; NaN before the first run.",
      },
    },
    shards,
    ({ database }) => measureReconciliation(database),
    log,
  );
  registerShardGauges(
    registry,
    {
      lagSeconds: {
        name: "parley_call_log_lag_seconds",
        help: "Upper bound for the age of the oldest done turn that has not been compared with the call log yet.",
      },
    },
    shards,
    ({ database }) => measureCallLog(database),
    log,
  );
}

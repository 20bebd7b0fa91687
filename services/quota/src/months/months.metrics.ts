import { Counter, type Logger, type Registry, registerShardGauges, type Shard, startAtZero } from "@parley/service-kit";
import { measureUnclosedMonth } from "./months.store.ts";

/** Registers the gauge of the oldest month that is not closed. Every replica reports the same value. */
export function registerMonthGauge(registry: Registry, shards: readonly Shard[], log: Logger): void {
  registerShardGauges(
    registry,
    {
      unclosedSeconds: {
        name: "parley_usage_unclosed_month_seconds",
        help: "Time since the end of the oldest month that has ended and is not closed; 0 without such a month.",
      },
    },
    shards,
    ({ database }) => measureUnclosedMonth(database),
    log,
  );
}

/**
 * Creates the counter of pruned rows. The conversation service has the same metric, with the same help, for its table `turns`. A reservation
 * that is pruned with its ledger entry is not counted.
 */
export function createPrunedRowCounter(registry: Registry): Counter<"table"> {
  const counter = new Counter<"table">({
    name: "parley_usage_pruned_rows_total",
    help: "Pruned rows by table. ledger (quota service) and turns (conversation service): rows of closed months. reservations (quota service): void reservations that are older than a week.",
    labelNames: ["table"],
    registers: [registry],
  });
  startAtZero(counter, { table: ["ledger", "reservations"] });
  return counter;
}

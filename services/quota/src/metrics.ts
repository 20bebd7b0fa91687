import { type Logger, type Registry, registerShardGauges, type Shard } from "@parley/service-kit";
import { measureHolds } from "./usage/holds.store.ts";

/** While a database dump runs, a measurement is expensive: it reads all holds that were settled since the dump began. See holds.store.ts. */
const CACHE_MS = 5_000;

/**
 * Registers gauges of the holds. A hold that is older than the longest turn (7 minutes) plus two edge leases shows that turns are not being
 * closed or settled.
 */
export function registerHoldGauges(registry: Registry, shards: readonly Shard[], log: Logger): void {
  registerShardGauges(
    registry,
    {
      count: { name: "parley_holds", help: "Messages held for unsettled turns; counting stops at 100,000." },
      oldestSeconds: {
        name: "parley_holds_oldest_seconds",
        help: "Age of the oldest hold in seconds; 0 without holds.",
      },
    },
    shards,
    ({ database }) => measureHolds(database),
    log,
    CACHE_MS,
  );
}

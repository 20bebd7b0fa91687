import { type Database, type Logger, type Registry, registerMeasuredGauges } from "@parley/service-kit";
import { measureHolds } from "./usage/holds.store.ts";

/**
 * Measures what is held. A hold ends by settlement and never by time, so one that is older than a turn can be (7 minutes) and two leases
 * more says that turns are not closed or not settled.
 */
export function holdGauges(registry: Registry, database: Database, log: Logger): void {
  registerMeasuredGauges(
    registry,
    {
      count: { name: "parley_holds", help: "Messages held for turns that have not ended, counted to 100,000." },
      oldestSeconds: { name: "parley_holds_oldest_seconds", help: "Age of the oldest message held; 0 when none is." },
    },
    () => measureHolds(database),
    log,
  );
}

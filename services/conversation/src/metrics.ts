import { Counter, type Database, Histogram, type Logger, measuredGauges, type Registry } from "@parley/service-kit";
import { measureOutbox } from "./store/outbox.ts";

/** Seconds from a turn's end to its settlement; beyond 60 s the promise of the books is broken. */
const SETTLE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600];

export function settleLag(registry: Registry): Histogram {
  return new Histogram({
    name: "parley_settle_lag_seconds",
    help: "Time from a turn's end until the quota service had it on its books.",
    buckets: SETTLE_BUCKETS,
    registers: [registry],
  });
}

export function outboxGauges(registry: Registry, database: Database, log: Logger): void {
  measuredGauges(
    registry,
    {
      depth: { name: "parley_outbox_depth", help: "Closed turns that are not settled yet, counted to 100,000." },
      oldestSeconds: {
        name: "parley_outbox_oldest_seconds",
        help: "Age of the oldest closed turn that is not settled yet.",
      },
    },
    () => measureOutbox(database),
    log,
  );
}

export type TurnCounter = Counter<"outcome">;

export function closedTurns(registry: Registry): TurnCounter {
  return new Counter({
    name: "parley_turns_closed_total",
    help: "Turns closed, by outcome.",
    labelNames: ["outcome"],
    registers: [registry],
  });
}

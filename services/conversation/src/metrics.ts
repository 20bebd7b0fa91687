import { OUTCOME_NAMES } from "@parley/rpc/outcomes";
import {
  Counter,
  type Database,
  Histogram,
  type Logger,
  type Registry,
  registerMeasuredGauges,
} from "@parley/service-kit";
import { SEMANTIC_SEARCH_RESULTS } from "./knowledge/semantic-search.service.ts";
import { measureOutbox } from "./settlement/outbox.store.ts";

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
  registerMeasuredGauges(
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
  const counter = new Counter({
    name: "parley_turns_closed_total",
    help: "Turns closed, by outcome.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  // A series that begins with its first turn would hide that one from rate().
  for (const outcome of OUTCOME_NAMES) counter.inc({ outcome }, 0);
  return counter;
}

/** Searches by meaning, by how they went. */
export function semanticSearches(registry: Registry): Counter<"result"> {
  const counter = new Counter({
    name: "parley_knowledge_semantic_searches_total",
    help: "Searches of knowledge by meaning: ok, or timeout, failed, off or paused, when the words alone were searched.",
    labelNames: ["result"],
    registers: [registry],
  });
  for (const result of SEMANTIC_SEARCH_RESULTS) counter.inc({ result }, 0);
  return counter;
}

export function embeddingGauge(registry: Registry, countLeft: () => Promise<number>, log: Logger): void {
  registerMeasuredGauges(
    registry,
    {
      left: {
        name: "parley_knowledge_unembedded_chunks",
        help: "Chunks of knowledge that cannot be found by meaning yet; 0 where none are to be.",
      },
    },
    async () => ({ left: await countLeft() }),
    log,
  );
}

import { OUTCOME_NAMES } from "@parley/rpc/outcomes";
import {
  Counter,
  Histogram,
  type Logger,
  type Registry,
  registerShardGauges,
  type Shard,
  startAtZero,
} from "@parley/service-kit";
import { SEMANTIC_SEARCH_RESULTS } from "./knowledge/semantic-search.service.ts";
import { measureOutbox } from "./settlement/outbox.store.ts";

/** In seconds. Parley promises that a turn is settled within 60 s of its close. */
const SETTLE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600];

export function createSettleLagHistogram(registry: Registry): Histogram {
  return new Histogram({
    name: "parley_settle_lag_seconds",
    help: "Time from a turn's close, or from the repair of its lost settlement, until the quota service settled it.",
    buckets: SETTLE_BUCKETS,
    registers: [registry],
  });
}

/**
 * How long a measurement is cached. While a database dump runs, a measurement is slow, because it reads the index entries of all rows that were
 * deleted from the outbox since the dump began.
 */
const OUTBOX_CACHE_MS = 5_000;

export function registerOutboxGauges(registry: Registry, shards: readonly Shard[], log: Logger): void {
  registerShardGauges(
    registry,
    {
      depth: { name: "parley_outbox_depth", help: "Closed turns in the outbox, counted up to 100,000." },
      oldestSeconds: {
        name: "parley_outbox_oldest_seconds",
        help: "Age of the oldest closed turn in the outbox.",
      },
    },
    shards,
    ({ database }) => measureOutbox(database),
    log,
    OUTBOX_CACHE_MS,
  );
}

export type TurnCounter = Counter<"outcome">;

export function createClosedTurnCounter(registry: Registry): TurnCounter {
  const counter = new Counter({
    name: "parley_turns_closed_total",
    help: "Turns closed, by outcome.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  startAtZero(counter, { outcome: OUTCOME_NAMES });
  return counter;
}

export function createRetentionFailureCounter(registry: Registry): Counter {
  return new Counter({
    name: "parley_retention_failures_total",
    help: "Failures to erase an expired session, to list a workspace's expired sessions, or to list the workspaces with a retention.",
    registers: [registry],
  });
}

export function createSemanticSearchCounter(registry: Registry): Counter<"result"> {
  const counter = new Counter({
    name: "parley_knowledge_semantic_searches_total",
    help: "Semantic searches of knowledge, by result. With timeout, failed, off or paused, only the word search was used.",
    labelNames: ["result"],
    registers: [registry],
  });
  startAtZero(counter, { result: SEMANTIC_SEARCH_RESULTS });
  return counter;
}

export function registerEmbeddingGauge(
  registry: Registry,
  shards: readonly Shard[],
  countUnembedded: (shard: Shard) => Promise<number>,
  log: Logger,
): void {
  registerShardGauges(
    registry,
    {
      unembedded: {
        name: "parley_knowledge_unembedded_chunks",
        help: "Knowledge chunks without an embedding yet, which semantic search cannot find; 0 if embeddings are off.",
      },
    },
    shards,
    async (shard) => ({ unembedded: await countUnembedded(shard) }),
    log,
  );
}

/** The quota service has the same metric, with the same help, for its tables. docs/quota.md defines closed months. */
export function createPrunedRowCounter(registry: Registry): Counter<"table"> {
  const counter = new Counter({
    name: "parley_usage_pruned_rows_total",
    help: "Pruned rows by table. ledger (quota service) and turns (conversation service): rows of closed months. reservations (quota service): void reservations that are older than a week.",
    labelNames: ["table"],
    registers: [registry],
  });
  startAtZero(counter, { table: ["turns"] });
  return counter;
}

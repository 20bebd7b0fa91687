import { OUTCOME_NAMES } from "@parley/rpc/outcomes";
import {
  Counter,
  Histogram,
  type Logger,
  type Registry,
  registerShardGauges,
  type Shard,
  shardLabelNames,
  shardLabels,
  startAtZero,
} from "@parley/service-kit";
import { SEMANTIC_SEARCH_RESULTS } from "./knowledge/semantic-search.service.ts";
import { measureOutbox } from "./settlement/outbox.store.ts";

/** In seconds. Parley promises that a turn is settled within 60 s of its close. */
const SETTLE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600];

export type SettleLag = { observe(seconds: number): void };

/** Returns what measures the settlements of each shard, by its number. */
export function createSettleLags(registry: Registry, shards: readonly Shard[]): SettleLag[] {
  const histogram = new Histogram({
    name: "parley_settle_lag_seconds",
    help: "Time from a turn's close, or from the repair of its lost settlement, until the quota service settled it.",
    labelNames: shardLabelNames(shards),
    buckets: SETTLE_BUCKETS,
    registers: [registry],
  });
  return shards.map(({ number }) => {
    const labels = shardLabels(shards, number);
    histogram.zero(labels);
    return { observe: (seconds) => histogram.observe(labels, seconds) };
  });
}

/** Returns a function that counts the failed runs of a task. With 0 failures, it starts the series. */
export function createTaskFailureCounter(
  registry: Registry,
  shards: readonly Shard[],
): (task: string, shard: number, failures?: number) => void {
  const counter = new Counter({
    name: "parley_task_failures_total",
    help: "Failed runs of the conversation service's periodic tasks, by task. A task continues with its next run.",
    labelNames: ["task", ...shardLabelNames(shards)],
    registers: [registry],
  });
  return (task, shard, failures = 1) => counter.inc({ task, ...shardLabels(shards, shard) }, failures);
}

/** Returns a function that counts a lease that a shard did not store in time. */
export function createLeaseFailureCounter(registry: Registry, shards: readonly Shard[]): (shard: number) => void {
  const counter = new Counter({
    name: "parley_edge_lease_failures_total",
    help: "Renewals of an edge's lease that the database did not store in time. If they last for as long as a lease, the edge's turns are closed as interrupted.",
    labelNames: shardLabelNames(shards),
    registers: [registry],
  });
  for (const { number } of shards) counter.inc(shardLabels(shards, number), 0);
  return (shard) => counter.inc(shardLabels(shards, shard));
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

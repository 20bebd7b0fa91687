import { Gauge, Histogram, type Registry } from "prom-client";
import { DURATION_BUCKETS } from "../ops/metrics.ts";
import type { CallPool } from "./call-pool.ts";
import type { Connection, Database } from "./database.ts";
import { createDatabaseErrorCounter } from "./error-metrics.ts";
import { routedPoolOf } from "./shard-limit.ts";

/**
 * Adds a connection pool to the metrics. `name` is the value of the label `pool`.
 *
 * @param calls limits RPC calls to a share of `pool`; the calls that it queues count as waiting too
 */
export type ObservePool = (name: string, pool: Database, calls?: CallPool) => void;

/** Registers the metrics of a service's connection pools. */
export function createPoolMetrics(registry: Registry): ObservePool {
  const registers = [registry];
  const pools = new Map<string, Database>();
  const callPools = new Map<string, CallPool>();
  new Gauge({
    name: "parley_db_pool_connections",
    help: "Open connections of a pool, by state: used or idle.",
    labelNames: ["pool", "state"],
    registers,
    collect() {
      for (const [pool, { totalCount, idleCount }] of pools) {
        this.set({ pool, state: "used" }, totalCount - idleCount);
        this.set({ pool, state: "idle" }, idleCount);
      }
    },
  });
  new Gauge({
    name: "parley_db_pool_max_connections",
    help: "Maximum number of connections of a pool.",
    labelNames: ["pool"],
    registers,
    collect() {
      for (const [pool, { options }] of pools) this.set({ pool }, options.max);
    },
  });
  new Gauge({
    name: "parley_db_pool_waiting",
    help: "Callers waiting for a connection of a pool. Those that wait because of their shard are in parley_db_shard_waiting.",
    labelNames: ["pool"],
    registers,
    collect() {
      for (const [pool, database] of pools) {
        const isRouted = routedPoolOf(database) !== undefined;
        const queued = isRouted ? 0 : (callPools.get(pool)?.queuedCount ?? 0);
        this.set({ pool }, database.waitingCount + queued);
      }
    },
  });
  new Gauge({
    name: "parley_db_shard_waiting",
    help: "With several shards: callers waiting for a connection of a pool that all shards share, because their shard uses its part of the pool, by shard. none: the shard is not known.",
    labelNames: ["pool", "shard"],
    registers,
    collect() {
      for (const [pool, database] of pools) {
        const routed = routedPoolOf(database);
        if (routed === undefined) continue;
        for (const shard of routed.shards) this.set({ pool, shard }, 0);
        for (const waiting of [routed.places.waiting, callPools.get(pool)?.waiting ?? []])
          for (const [shard, { size }] of waiting) this.inc({ pool, shard }, size);
      }
    },
  });
  const uses = new Histogram({
    name: "parley_db_connection_use_seconds",
    help: "Time for which a statement or transaction held a connection.",
    labelNames: ["pool"],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const countErrors = createDatabaseErrorCounter(registry);
  return (name, pool, calls) => {
    pools.set(name, pool);
    countErrors(name, pool);
    if (calls !== undefined) callPools.set(name, calls);
    const acquiredAtMsOf = new WeakMap<Connection, number>();
    pool.on("acquire", (connection) => acquiredAtMsOf.set(connection, performance.now()));
    pool.on("release", (_, connection) => {
      const acquiredAtMs = acquiredAtMsOf.get(connection);
      if (acquiredAtMs !== undefined) uses.observe({ pool: name }, (performance.now() - acquiredAtMs) / 1_000);
    });
  };
}

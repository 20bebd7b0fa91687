import { Gauge, Histogram, type Registry } from "prom-client";
import { DURATION_BUCKETS } from "../ops/metrics.ts";
import type { CallPool } from "./call-pool.ts";
import type { Connection, Database } from "./database.ts";
import { createDatabaseErrorCounter } from "./error-metrics.ts";

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
    help: "Callers waiting for a connection of a pool.",
    labelNames: ["pool"],
    registers,
    collect() {
      for (const [pool, { waitingCount }] of pools)
        this.set({ pool }, waitingCount + (callPools.get(pool)?.queuedCount ?? 0));
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

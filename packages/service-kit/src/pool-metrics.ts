import { Gauge, Histogram, type Registry } from "prom-client";
import type { Connection, Database } from "./database.ts";
import { DURATION_BUCKETS } from "./metrics.ts";

/** Watches a connection pool under a name of its own. */
export type PoolWatch = (name: string, pool: Database) => void;

/** How a service's connection pools are used. What a connection is taken for is one statement or one transaction. */
export function createPoolMetrics(registry: Registry): PoolWatch {
  const registers = [registry];
  const pools = new Map<string, Database>();
  new Gauge({
    name: "parley_db_pool_connections",
    help: "Connections of a pool that are open: used or idle.",
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
    help: "Connections that a pool may open.",
    labelNames: ["pool"],
    registers,
    collect() {
      for (const [pool, { options }] of pools) this.set({ pool }, options.max);
    },
  });
  new Gauge({
    name: "parley_db_pool_waiting",
    help: "Callers that wait for a connection of a pool.",
    labelNames: ["pool"],
    registers,
    collect() {
      for (const [pool, { waitingCount }] of pools) this.set({ pool }, waitingCount);
    },
  });
  const uses = new Histogram({
    name: "parley_db_connection_use_seconds",
    help: "Time a connection was in use, for one statement or one transaction.",
    labelNames: ["pool"],
    buckets: DURATION_BUCKETS,
    registers,
  });
  return (name, pool) => {
    pools.set(name, pool);
    const takenAt = new WeakMap<Connection, number>();
    pool.on("acquire", (connection) => takenAt.set(connection, performance.now()));
    pool.on("release", (_, connection) => {
      const at = takenAt.get(connection);
      if (at !== undefined) uses.observe({ pool: name }, (performance.now() - at) / 1_000);
    });
  };
}

import {
  CallPool,
  createPoolMetrics,
  FairQueue,
  type Lifecycle,
  type Logger,
  logMissingRoleTimeouts,
  openRoutedPool,
  openShards,
  type Registry,
  requireShard,
} from "@parley/service-kit";
import type { Config } from "./config.ts";
import { ExportPacer, type OwnerReadPool } from "./sessions/index.ts";

/** Opens the pool of each shard, a share of it for calls, and the pool of what owners read. */
export function openPools(config: Config, registry: Registry, log: Logger, lifecycle: Lifecycle) {
  const { databaseUrl: url, databasePool, usesPreparedStatements, shardCount } = config;
  const { closingSignal } = lifecycle;
  const options = { url, usesPreparedStatements, closingSignal, keyedTable: "conversation.turns" };
  const ownerConnections = Math.max(1, Math.floor(databasePool / 5));
  const mainOptions = { applicationName: "parley-conversation", maxConnections: databasePool - ownerConnections };
  const ownerOptions = { applicationName: "parley-conversation-export", maxConnections: ownerConnections };
  const sharded = openShards({ ...options, ...mainOptions, shardCount }, log, lifecycle);
  const ownerDatabase = openRoutedPool(sharded, { ...options, ...ownerOptions }, log, lifecycle);
  const calls = new CallPool(sharded.database);
  const observePool = createPoolMetrics(registry);
  observePool("main", sharded.database, calls);
  observePool("export", ownerDatabase);
  const shards = sharded.shards.map(({ number, database }) => {
    const isMain = database === sharded.database;
    const shard = { number, database, calls: isMain ? calls : new CallPool(database) };
    if (!isMain) observePool(`shard_${number}`, database, shard.calls);
    return shard;
  });
  void logMissingRoleTimeouts(requireShard(shards, 0).database, log);
  const ownerReadPool: OwnerReadPool = {
    database: ownerDatabase,
    limiter: new FairQueue({ maxActiveOfWorkspace: 1 }),
    pacer: new ExportPacer(),
  };
  return {
    /** The whole main pool, for work that must complete, such as closing a turn; and the pool of each shard. */
    sharded,
    /** A share of the main pool, for calls that may be refused or cancelled. */
    calls,
    /** The pool of each shard, and a share of it for such calls. */
    shards,
    ownerReadPool,
  };
}

import { setTimeout as sleep } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Lifecycle } from "../process/lifecycle.ts";
import type { Logger } from "../process/logger.ts";
import type { Environment } from "../settings/environment.ts";
import { type Database, type DatabaseOptions, openDatabase, withQueryTimeout } from "./database.ts";
import { limitByShard, type ShardFinder } from "./shard-limit.ts";
import { onShardOfWorkspace } from "./workspace-transaction.ts";

/** One logical shard: an ordinary database with the schemas of all services. `database` reaches it directly, without routing. */
export type Shard = { number: number; database: Database };

/**
 * `database` routes each statement by the workspace_id that it contains. `shards` are for work over many workspaces. Without a router there is
 * one shard, and both are the same pool.
 */
export type ShardedDatabase = { database: Database; shards: readonly Shard[] };

/** SQL for the number of the shard that runs the statement. A shard's database has the number as a setting of its own; without it, the number is 0. */
export const SHARD_NUMBER = "coalesce(current_setting('parley.shard', true), '0')::integer";

/** The most connections of one shard's pool. So a process has at most DATABASE_POOL + 4 × DATABASE_SHARDS connections to the router. */
export const SHARD_CONNECTIONS = 4;

/**
 * Reads DATABASE_SHARDS, the number of logical shards. With more than one, DATABASE_URL leads to a router. At the same address, the router serves
 * each shard as an unsharded database with the name of the sharded database, `_` and the shard's number, such as `parley_0`.
 */
export function readShardCount(environment: Environment): number {
  return environment.integer("DATABASE_SHARDS", 1, { min: 1, max: 64 });
}

/** `keyedTable` is any table with the column workspace_id. */
export type RoutedOptions = DatabaseOptions & { keyedTable: string };

/**
 * Opens the pool of the sharded database, of `maxConnections`, and a small pool for each shard. With several shards, limits the connections of the
 * sharded database's pool that one shard may use. Closes the pools when the process stops.
 */
export function openShards(
  { shardCount, ...options }: RoutedOptions & { shardCount: number },
  log: Logger,
  lifecycle: Pick<Lifecycle, "onClose">,
): ShardedDatabase {
  const pools: Database[] = [];
  const open = (changes: Partial<DatabaseOptions> = {}) => {
    const database = openDatabase({ ...options, ...changes }, log);
    pools.push(database);
    return database;
  };
  // All at once, so that a shard that does not respond delays the process's end only once.
  lifecycle.onClose(options.applicationName, async () => void (await Promise.all(pools.map((pool) => pool.end()))));
  if (shardCount === 1) return singleShard(open());
  const database = open({ isRouted: true });
  const shards = Array.from({ length: shardCount }, (_, number) => ({
    number,
    database: open({ url: urlOfShard(options.url, number), maxConnections: SHARD_CONNECTIONS }),
  }));
  const sharded = { database, shards };
  limitByShard(database, shardFinder(sharded, options.keyedTable));
  return sharded;
}

/** Opens another pool of the sharded database, with the same limit. Closes it when the process stops. */
export function openRoutedPool(
  sharded: ShardedDatabase,
  options: RoutedOptions,
  log: Logger,
  lifecycle: Pick<Lifecycle, "onClose">,
): Database {
  const isRouted = sharded.shards.length > 1;
  const database = openDatabase({ ...options, isRouted }, log);
  lifecycle.onClose(options.applicationName, () => database.end());
  if (isRouted) limitByShard(database, shardFinder(sharded, options.keyedTable));
  return database;
}

function shardFinder(sharded: ShardedDatabase, keyedTable: string): ShardFinder {
  return {
    shardCount: sharded.shards.length,
    known: (workspaceId) => findKnownShard(sharded, workspaceId)?.number,
    search: async (workspaceId) => (await shardOfWorkspace(sharded, keyedTable, workspaceId)).number,
  };
}

/** Returns one database as the only shard. */
export function singleShard(database: Database): ShardedDatabase {
  return { database, shards: [{ number: 0, database }] };
}

/** How long the router may take to find a shard. Short, because a shard that does not respond would occupy the connection. */
const FIND_TIMEOUT_MS = 1_000;
/** A workspace never changes its shard, so an entry never becomes stale. */
const MAX_KNOWN_WORKSPACES = 100_000;

/** The shards that this process has found, and the searches that run, by workspace. */
type KnownShards = { found: LRUCache<string, Shard>; searches: Map<string, Promise<Shard>> };
const knownShards = new WeakMap<readonly Shard[], KnownShards>();

function knownOf(shards: readonly Shard[]): KnownShards {
  const known = knownShards.get(shards) ?? { found: new LRUCache({ max: MAX_KNOWN_WORKSPACES }), searches: new Map() };
  knownShards.set(shards, known);
  return known;
}

/** Returns the shard of a workspace if this process knows it. */
function findKnownShard({ shards }: ShardedDatabase, workspaceId: string): Shard | undefined {
  return shards.length === 1 ? shards[0] : knownOf(shards).found.get(workspaceId);
}

/** Stores the shard of a workspace, so that shardOfWorkspace need not search it. */
export function rememberShard({ shards }: Pick<ShardedDatabase, "shards">, workspaceId: string, number: number): void {
  if (shards.length > 1) knownOf(shards).found.set(workspaceId, requireShard(shards, number));
}

/**
 * Finds the shard of a workspace, which need not exist, by asking the router, and remembers it. Sends no statement if there is one shard. `table` is
 * any table with the column workspace_id.
 */
export async function shardOfWorkspace(sharded: ShardedDatabase, table: string, workspaceId: string): Promise<Shard> {
  const known = findKnownShard(sharded, workspaceId);
  if (known !== undefined) return known;
  const { found, searches } = knownOf(sharded.shards);
  const running = searches.get(workspaceId);
  if (running !== undefined) return running;
  const search = searchShard(sharded, table, workspaceId)
    .then((shard) => {
      found.set(workspaceId, shard);
      return shard;
    })
    .finally(() => searches.delete(workspaceId));
  searches.set(workspaceId, search);
  return search;
}

/** How long the router may take before the shards are asked too. */
const ASK_SHARDS_AFTER_MS = 50;

/**
 * Asks the router. The searches of all unknown workspaces share the places of one group, so a shard that does not respond would delay them all. So if
 * the router does not answer soon, also asks each shard over its own pool whether it has rows of the workspace.
 */
async function searchShard(sharded: ShardedDatabase, table: string, workspaceId: string): Promise<Shard> {
  const routed = askRouter(sharded, table, workspaceId);
  const asked = new AbortController();
  const onShards = async () => {
    await sleep(ASK_SHARDS_AFTER_MS, undefined, { signal: asked.signal });
    const found = await findOnShards(sharded.shards, async (shard) => {
      const statement = `SELECT FROM ${table} WHERE workspace_id = $1 LIMIT 1`;
      const { rowCount } = await shard.database.query(withQueryTimeout(statement, [workspaceId], FIND_TIMEOUT_MS));
      return rowCount === 0 ? undefined : shard;
    });
    // Only the router knows the shard of a workspace without rows.
    return found ?? routed;
  };
  try {
    return await Promise.any([routed, onShards()]);
  } catch {
    return await routed;
  } finally {
    asked.abort();
  }
}

async function askRouter({ database, shards }: ShardedDatabase, table: string, workspaceId: string): Promise<Shard> {
  const statement = onShardOfWorkspace(table, `${SHARD_NUMBER} AS shard`);
  const { rows } = await database.query<{ shard: number }>(withQueryTimeout(statement, [workspaceId], FIND_TIMEOUT_MS));
  return requireShard(shards, rows[0]?.shard ?? Number.NaN);
}

/**
 * Asks all shards at once, and returns the first result that is not undefined. If there is none and a shard failed, throws that shard's error,
 * because the shard may have the result.
 */
export async function findOnShards<T>(
  shards: readonly Shard[],
  find: (shard: Shard) => Promise<T | undefined>,
): Promise<T | undefined> {
  const notFound = new Error("not found");
  const searches = shards.map(async (shard) => {
    const found = await find(shard);
    if (found === undefined) throw notFound;
    return found;
  });
  try {
    return await Promise.any(searches);
  } catch (error) {
    const failure: unknown = (error as AggregateError).errors.find((each) => each !== notFound);
    if (failure !== undefined) throw failure;
    return undefined;
  }
}

/** Throws if there is no shard with this number: DATABASE_SHARDS is then lower than the number of databases behind the router. */
export function requireShard<T>(shards: readonly T[], number: number): T {
  const shard = shards[number];
  if (shard === undefined) throw new Error(`there is no shard ${number}: DATABASE_SHARDS is ${shards.length}`);
  return shard;
}

/** Returns the URL of a shard's own database: parley becomes parley_0. */
export function urlOfShard(url: string, number: number): string {
  const shardUrl = new URL(url);
  shardUrl.pathname += `_${number}`;
  return shardUrl.href;
}

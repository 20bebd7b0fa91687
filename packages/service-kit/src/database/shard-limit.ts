import { AsyncLocalStorage } from "node:async_hooks";
import { isWorkspaceId } from "@parley/rpc/formats";
import { FairQueue } from "../limiters/fair-queue.ts";
import { type Connection, connectWith, type Database } from "./database.ts";

/** How long a statement waits until its shard may use another connection. Equals the pool's connectionTimeoutMillis. */
const MAX_WAIT_MS = 10_000;
/** The group of the statements whose shard is not known: outside of a call about one workspace, and while the shard is being found. */
export const NO_SHARD = "none";

/** The workspace of the call that runs now. */
const workspaceOfCall = new AsyncLocalStorage<string | undefined>();

/**
 * Runs a call. If its request names a workspace and there are several shards, the call's statements count as statements of the workspace's shard.
 */
export function runForWorkspace<T>({ shards }: { shards: readonly unknown[] }, request: object, work: () => T): T {
  if (shards.length === 1) return work();
  const { workspaceId } = request as { workspaceId?: unknown };
  return typeof workspaceId === "string" && isWorkspaceId(workspaceId)
    ? workspaceOfCall.run(workspaceId, work)
    : work();
}

/** Makes the items of a stream that is read after the call of runForWorkspace belong to this call too. */
export function keepWorkspace<T>(items: AsyncIterable<T>): AsyncIterable<T> {
  const inCall = AsyncLocalStorage.snapshot();
  return {
    [Symbol.asyncIterator]() {
      const iterator = items[Symbol.asyncIterator]();
      return {
        next: () => inCall(() => iterator.next()),
        return: async (value) => (await inCall(() => iterator.return?.(value))) ?? { done: true, value },
      };
    },
  };
}

/** Finds the numbers of the workspaces' shards. */
export type ShardFinder = {
  shardCount: number;
  /** Returns the number if this process knows it. */
  known(workspaceId: string): number | undefined;
  /** Asks the router. Rejects if the shard does not respond. */
  search(workspaceId: string): Promise<number>;
};

/** The shards of a pool of connections to the router. */
type RoutedPool = {
  /** All shards as text, and NO_SHARD. */
  shards: readonly string[];
  /** Returns the shard of the current call as text, or NO_SHARD if this process does not know it. */
  currentShard(): string;
  /** Like currentShard, but searches an unknown shard. */
  findShard(): Promise<string>;
  /** The connections in use and the statements that wait, by shard. */
  places: FairQueue;
};

const routedPools = new WeakMap<Database, RoutedPool>();

/** Returns undefined for a pool that leads to one database. */
export function routedPoolOf(database: Database): RoutedPool | undefined {
  return routedPools.get(database);
}

/**
 * A shard gets another connection only while it uses fewer than are free. So a shard that does not respond takes at most half of a pool, rounded up,
 * and two such shards two thirds.
 */
export const SHARD_RULE = { maxActivePerFreePlace: 1 };

/** Limits the connections of a pool to the router that the statements of one shard may use. */
export function limitByShard(database: Database, { shardCount, known, search }: ShardFinder): void {
  const places = new FairQueue({
    ...SHARD_RULE,
    maxActive: database.options.max,
    maxWaitMs: MAX_WAIT_MS,
    // toRpcError maps this text to UNAVAILABLE.
    createTimeoutError: (shard) => new Error(`timeout exceeded when trying to connect to shard ${shard}`),
  });
  const currentShard = () => {
    const workspaceId = workspaceOfCall.getStore();
    return String((workspaceId === undefined ? undefined : known(workspaceId)) ?? NO_SHARD);
  };
  const findShard = async () => {
    const shard = currentShard();
    const workspaceId = workspaceOfCall.getStore();
    if (shard !== NO_SHARD || workspaceId === undefined) return shard;
    // The statement that searches the shard has none itself.
    return String(await workspaceOfCall.run(undefined, () => search(workspaceId)));
  };
  const connect = database.connect.bind(database) as () => Promise<Connection>;
  database.connect = connectWith(async () =>
    connectInPlace(await places.acquire(await findShard(), undefined), connect),
  );
  const shards = [NO_SHARD, ...Array.from({ length: shardCount }, (_, number) => String(number))];
  routedPools.set(database, { shards, currentShard, findShard, places });
}

/** Gets a connection that calls `free` when it is released. */
export async function connectInPlace(free: () => void, connect: () => Promise<Connection>): Promise<Connection> {
  try {
    const connection = await connect();
    const { release } = connection;
    connection.release = (error) => {
      release.call(connection, error);
      free();
    };
    return connection;
  } catch (error) {
    free();
    throw error;
  }
}

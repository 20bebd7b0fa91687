import { createDatabase, queryRows, type ShardRouter, startShardRouter, type TestDatabase } from "@parley/test-support";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { Registry } from "../ops/metrics.ts";
import { Lifecycle } from "../process/lifecycle.ts";
import { createLogger } from "../process/logger.ts";
import { CallPool } from "./call-pool.ts";
import type { Database } from "./database.ts";
import { createPoolMetrics } from "./pool-metrics.ts";
import { keepWorkspace, runForWorkspace } from "./shard-limit.ts";
import { openRoutedPool, openShards, type ShardedDatabase } from "./shards.ts";

const SHARDS = 3;
const CONNECTIONS = 8;
const SELECT = "SELECT used FROM quota.usage WHERE workspace_id = $1";
const log = createLogger("test", "silent");

let databases: TestDatabase[];
let router: ShardRouter;
beforeAll(async () => {
  databases = await Promise.all(Array.from({ length: SHARDS }, () => createDatabase()));
  for (const [number, { name, url }] of databases.entries()) {
    await queryRows(url, `ALTER DATABASE ${name} SET parley.shard = '${number}'`);
    await queryRows(url, "CREATE SCHEMA quota");
    await queryRows(url, "CREATE TABLE quota.usage (workspace_id text PRIMARY KEY, used integer NOT NULL)");
  }
  router = await startShardRouter({ shardUrls: databases.map(({ url }) => url) });
});
afterAll(async () => {
  await router.stop();
  for (const { drop } of databases) await drop();
});

/** Opens the pools of a service. */
function openPools(shardCount = SHARDS): ShardedDatabase & { lifecycle: Lifecycle } {
  const lifecycle = new Lifecycle(log);
  onTestFinished(async () => void (await lifecycle.close()));
  const url = shardCount === 1 ? (databases[0]?.url ?? "") : router.through(databases[0]?.url ?? "");
  const options = { url, applicationName: "test", maxConnections: CONNECTIONS, keyedTable: "quota.usage" };
  return { ...openShards({ ...options, shardCount }, log, lifecycle), lifecycle };
}

let created = 0;
/** Returns the id of a workspace that no test has used. */
function newWorkspace(shard: number): string {
  for (;;) {
    const workspaceId = `ws_${created++}`;
    if (router.shardOf(workspaceId) === shard) return workspaceId;
  }
}

const read = (sharded: ShardedDatabase, workspaceId: string, database: Database = sharded.database) =>
  runForWorkspace(sharded, { workspaceId }, () => database.query(SELECT, [workspaceId]));

/** Makes every statement of a shard wait until the returned function is called. */
async function freeze(shard: number): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databases[shard]?.url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("BEGIN");
  await client.query("LOCK TABLE quota.usage IN ACCESS EXCLUSIVE MODE");
  return async () => void (await client.query("ROLLBACK"));
}

test("200 calls for a shard that does not respond use half of the connections, and all calls for the other shards go on", async () => {
  const sharded = openPools();
  const { database } = sharded;
  const calls = new CallPool(database);
  const [frozen = "", ...others] = [0, 1, 2].map(newWorkspace);
  for (const workspaceId of [frozen, ...others]) await read(sharded, workspaceId);
  const unfreeze = await freeze(0);
  const callers = new AbortController();
  let rejected = 0;
  const frozenCalls = Array.from({ length: 200 }, async (_, n) => {
    // CloseTurn and the owners' calls use the whole pool, and have no signal.
    const call = read(sharded, frozen, n % 2 === 0 ? calls.databaseFor(callers.signal) : database);
    await call.catch(() => rejected++);
  });
  const countUsed = () => database.totalCount - database.idleCount;
  await expect.poll(countUsed).toBe(CONNECTIONS / 2);
  for (let round = 0; round < 25; round++)
    await Promise.all(
      others.flatMap((id) => [read(sharded, id), read(sharded, id, calls.databaseFor(new AbortController().signal))]),
    );
  await expect.poll(countUsed).toBe(CONNECTIONS / 2);
  // The calls that wait end at their deadline: all but those that have one of the four connections.
  callers.abort(new Error("deadline"));
  await expect.poll(() => rejected).toBeGreaterThanOrEqual(96);
  await unfreeze();
  await Promise.all(frozenCalls);
  expect((await read(sharded, frozen)).rows).toEqual([]);
  expect([database.waitingCount, countUsed()]).toEqual([0, 0]);
});

test("a call for a workspace that the process does not know fails within 1 s if its shard does not respond", async () => {
  const sharded = openPools();
  const unfreeze = await freeze(0);
  const frozen = [newWorkspace(0), newWorkspace(0), newWorkspace(0)].flatMap((id) => [id, id]);
  const startedAt = performance.now();
  const ended = Promise.allSettled(frozen.map((id) => read(sharded, id)));
  for (let n = 0; n < 10; n++) expect((await read(sharded, newWorkspace(1))).rows).toEqual([]);
  for (const each of await ended)
    expect(each).toMatchObject({ status: "rejected", reason: { message: "Query read timeout" } });
  // Less than the 10 s of a statement.
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  await unfreeze();
  expect((await read(sharded, frozen[0] ?? "")).rows).toEqual([]);
});

test("after a restart, many workspaces of a shard that does not respond do not delay those of other shards", async () => {
  const known = Array.from({ length: 10 }, () => newWorkspace(1));
  for (const workspaceId of known)
    await queryRows(databases[1]?.url ?? "", "INSERT INTO quota.usage (workspace_id, used) VALUES ($1, 1)", [
      workspaceId,
    ]);
  const sharded = openPools();
  const unfreeze = await freeze(0);
  const frozen = Array.from({ length: 60 }, () => read(sharded, newWorkspace(0)));
  const ended = Promise.allSettled(frozen);
  const startedAt = performance.now();
  for (const workspaceId of known) expect((await read(sharded, workspaceId)).rows).toEqual([{ used: 1 }]);
  // 60 searches of 1 s, four at a time, would take 15 s.
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  await unfreeze();
  await ended;
});

test("refuses new calls only for the shard whose calls have waited 5 s, and reports the waiting calls by shard", async () => {
  const sharded = openPools();
  const calls = new CallPool(sharded.database);
  const registry = new Registry();
  createPoolMetrics(registry)("main", sharded.database, calls);
  const [frozen, other] = [newWorkspace(0), newWorkspace(1)];
  for (const workspaceId of [frozen, other]) await read(sharded, workspaceId);
  const unfreeze = await freeze(0);
  const waiting = Array.from({ length: 10 }, () =>
    read(sharded, frozen, calls.databaseFor(new AbortController().signal)),
  );
  // 75 % of the connections are for calls, and one shard may use half of these: 3.
  await expect.poll(() => registry.metrics()).toContain('parley_db_shard_waiting{pool="main",shard="0"} 7');
  expect(await registry.metrics()).toContain('parley_db_shard_waiting{pool="main",shard="1"} 0');
  // Until the connections are open, callers also wait for the pool itself.
  await expect.poll(() => registry.metrics()).toContain('parley_db_pool_waiting{pool="main"} 0');
  const refuse = (workspaceId: string) => runForWorkspace(sharded, { workspaceId }, () => calls.refuseIfOverloaded());
  refuse(frozen);
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + 5_000);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(() => refuse(frozen)).toThrow("too many calls wait");
  refuse(other);
  await unfreeze();
  await Promise.all(waiting);
  refuse(frozen);
});

test("another pool of the sharded database has a limit of its own, also for a stream that is read after the call", async () => {
  const sharded = openPools();
  const options = { url: router.through(databases[0]?.url ?? ""), maxConnections: 2, keyedTable: "quota.usage" };
  const exports = openRoutedPool(sharded, { ...options, applicationName: "test-export" }, log, sharded.lifecycle);
  const [frozen, other] = [newWorkspace(0), newWorkspace(1)];
  for (const workspaceId of [frozen, other]) await read(sharded, workspaceId);
  const unfreeze = await freeze(0);
  async function* stream() {
    yield await exports.query(SELECT, [frozen]);
  }
  const streams = Array.from({ length: 3 }, () =>
    runForWorkspace(sharded, { workspaceId: frozen }, () => keepWorkspace(stream()))
      [Symbol.asyncIterator]()
      .next(),
  );
  for (let n = 0; n < 10; n++) expect((await read(sharded, other, exports)).rows).toEqual([]);
  await unfreeze();
  await Promise.all(streams);
});

test("a database without shards has no limit", async () => {
  const sharded = openPools(1);
  expect(Object.hasOwn(sharded.database, "connect")).toBe(false);
  const unfreeze = await freeze(0);
  const waiting = Array.from({ length: CONNECTIONS }, () => read(sharded, "ws"));
  await expect.poll(() => sharded.database.totalCount - sharded.database.idleCount).toBe(CONNECTIONS);
  await unfreeze();
  await Promise.all(waiting);
});

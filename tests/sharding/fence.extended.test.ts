import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { queryRows } from "@parley/test-support";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { runCliInProcess } from "../system/cli.ts";
import {
  moveUntil,
  runShards,
  type ServerName,
  type ShardServers,
  startConfiguredRouter,
  startShardServers,
} from "./shard-servers.ts";

// What `parley shards` excludes while a shard moves from server a to server b. The tests depend on each other, in this order.

vi.setConfig({ testTimeout: 600_000 });

const INSERT =
  "INSERT INTO quota.audit_log (workspace_id, method, target, changed_fields) VALUES ('ws', 'Test', '{}', '{}')";

let shards: ShardServers;
let dir: string;
let configFile: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-shards-"));
  configFile = join(dir, "pgdog.toml");
  shards = await startShardServers(["a", "b"], ["a"]);
  const onOneServer = { ...shards.env, PARLEY_SHARD_SERVERS: `a=${shards.urlOf("a", "postgres")}` };
  await runShards(onOneServer, "shards", "init");
  await startConfiguredRouter(shards, onOneServer, dir);
  await runShards(onOneServer, "migrate");
  // Creates the administrator on the new server.
  await runShards(shards.env, "shards", "init");
});
afterAll(async () => {
  await shards[Symbol.asyncDispose]();
  await rm(dir, { recursive: true });
});

const moveArgs = (shard: number) => ["shards", "move", String(shard), "--to", "b", "--config-file", configFile];

async function openClient(server: ServerName, database: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: shards.urlOf(server, database) });
  // The move ends the sessions of the databases that it renames.
  client.on("error", () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

test("a shard that another process moves to a third server is not moved", async () => {
  const other = await openClient("a", "postgres");
  await other.query("SELECT pg_advisory_lock(hashtext('parley.move parley_0'))");
  const { code, stderr } = await runCliInProcess(moveArgs(0), shards.env);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("another process is moving parley_0") });
});

test("init does not create a shard that a move has renamed", async () => {
  await queryRows(shards.urlOf("a", "postgres"), "ALTER DATABASE parley_3 RENAME TO parley_3_moved");
  const { code, stderr } = await runCliInProcess(["shards", "init"], shards.env);
  await queryRows(shards.urlOf("a", "postgres"), "ALTER DATABASE parley_3_moved RENAME TO parley_3");
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining("no server has parley_3, but a has parley_3_moved: complete the move"),
  });
});

test("a move that continues fences the shard only when the copy is nearly up to date", async () => {
  await moveUntil("copied", moveArgs(1), shards.env);
  // The copy cannot insert rows while this transaction locks its table.
  const blocker = await openClient("b", "parley_1_incoming");
  await blocker.query("BEGIN; LOCK TABLE quota.audit_log IN ACCESS EXCLUSIVE MODE");
  await queryRows(shards.urlOf("a", "parley_1"), INSERT);
  await queryRows(shards.urlOf("a", "parley_1"), "SELECT pg_logical_emit_message(true, 'test', repeat('x', 2000000))");
  const moving = runCliInProcess(moveArgs(1), shards.env);
  await sleep(5_000);
  const limit = "SELECT datconnlimit AS limit FROM pg_database WHERE datname = 'parley_1'";
  const whileBehind = await queryRows(shards.urlOf("a", "postgres"), limit);
  await blocker.query("ROLLBACK");
  expect(await moving).toMatchObject({ code: 0 });
  expect(whileBehind).toEqual([{ limit: -1 }]);
});

test("a server that is away and takes no part does not stop a move that has begun", async () => {
  await moveUntil("caught up", moveArgs(0), shards.env);
  const env = {
    ...shards.env,
    PARLEY_SHARD_SERVERS: `${shards.env.PARLEY_SHARD_SERVERS} c=postgres://postgres@127.0.0.1:1`,
  };
  expect(await runCliInProcess(moveArgs(0), env)).toMatchObject({ code: 0 });
});

test("a move names the roles that would lose their access", async () => {
  const grant = "GRANT USAGE ON SCHEMA quota TO reports";
  for (const server of ["a", "b"] as const) await queryRows(shards.urlOf(server, "postgres"), "CREATE ROLE reports");
  await queryRows(shards.urlOf("a", "parley_2"), grant);
  const { code, stderr } = await runCliInProcess(moveArgs(2), shards.env);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("reports may use schemas of parley_2") });
  await queryRows(shards.urlOf("b", "parley_2_incoming"), grant);
});

test("the fence waits for sessions that began to connect before it", async () => {
  const url = Object.assign(new URL(shards.urlOf("a", "parley_2")), {
    username: "parley_quota",
    password: new URL(shards.routerUrlOf("parley_quota")).password,
  });
  const written: string[] = [];
  /** Connects slowly, and writes a row at once. */
  const write = async () => {
    const client = new pg.Client({ connectionString: url.href, options: "-c post_auth_delay=3" });
    client.on("error", () => undefined);
    await client.connect();
    const { rows } = await client.query<{ id: string }>(`${INSERT} RETURNING entry_id::text AS id`);
    written.push(rows[0]?.id ?? "");
    await client.end();
  };
  const move = runShards(shards.env, ...moveArgs(2));
  let isMoving = true;
  const writers = Array.from({ length: 10 }, async (_, n) => {
    await sleep(n * 300);
    while (isMoving) await write().catch(() => sleep(100));
  });
  await move.finally(() => {
    isMoving = false;
  });
  await Promise.all(writers);
  const stored = await queryRows<{ id: string }>(
    shards.urlOf("b", "parley_2"),
    "SELECT entry_id::text AS id FROM quota.audit_log WHERE method = 'Test'",
  );
  const storedIds = new Set(stored.map(({ id }) => id));
  expect(written.length).toBeGreaterThan(0);
  expect(written.filter((id) => !storedIds.has(id))).toEqual([]);
});

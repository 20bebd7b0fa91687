import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { queryRows, readShardUrls } from "@parley/test-support";
import pg from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { runCliInProcess, runCliJson } from "../system/cli.ts";
import {
  addWorkspaces,
  moveUntil,
  runShards,
  type ServerName,
  type ShardServers,
  startConfiguredRouter,
  startShardServers,
} from "./shard-servers.ts";

// `parley shards move` between servers under a write load. The tests depend on each other, in this order.

const MONTH = "2026-12-01";
/** The steps of a move. Each is a line of its progress. */
const STEPS = [
  ...["created", "migrated", "subscribed", "copied", "fenced"],
  ...["caught up", "detached", "switched", "routed"],
];

// A move starts processes and waits for PostgreSQL's workers, which takes minutes on a busy machine.
vi.setConfig({ testTimeout: 600_000 });

let shards: ShardServers;
let dir: string;
let configFile: string;
let workspaces: string[];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-shards-"));
  configFile = join(dir, "pgdog.toml");
  shards = await startShardServers(["a", "b", "c"], ["a", "b"]);
  const onTwoServers = {
    ...shards.env,
    PARLEY_SHARD_SERVERS: `a=${shards.urlOf("a", "postgres")} b=${shards.urlOf("b", "postgres")}`,
  };
  await runShards(onTwoServers, "shards", "init");
  await startConfiguredRouter(shards, onTwoServers, dir);
  await runShards(onTwoServers, "migrate");
  // Creates the administrator on the new server.
  await runShards(shards.env, "shards", "init");
  workspaces = await addWorkspaces(shards, 24);
});
afterAll(async () => {
  await shards[Symbol.asyncDispose]();
  await rm(dir, { recursive: true });
});

type Written = { workspaceId: string; turnId: string; entryId: string };

/** Counts turns through the router, as fast as it can, until stop() is called. Repeats a turn that fails. */
function startLoad() {
  const pool = new pg.Pool({ connectionString: shards.routerUrlOf("parley_quota"), max: 4 });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  const written: Written[] = [];
  let isStopped = false;
  const write = async (workspaceId: string) => {
    const client = await pool.connect();
    let failure: Error | undefined;
    try {
      const turnId = randomUUID();
      await client.query("BEGIN");
      await client.query(
        `INSERT INTO quota.usage AS u (workspace_id, month, used) VALUES ($1, $2, 1)
         ON CONFLICT (workspace_id, month) DO UPDATE SET used = u.used + 1`,
        [workspaceId, MONTH],
      );
      await client.query("INSERT INTO quota.ledger (workspace_id, month, turn_id) VALUES ($1, $2, $3)", [
        workspaceId,
        MONTH,
        turnId,
      ]);
      const { rows } = await client.query<{ entryId: string }>(
        `INSERT INTO quota.audit_log (workspace_id, method, target, changed_fields) VALUES ($1, 'Test', '{}', '{}')
         RETURNING entry_id::text AS "entryId"`,
        [workspaceId],
      );
      await client.query("COMMIT");
      written.push({ workspaceId, turnId, entryId: rows[0]?.entryId ?? "" });
    } catch (error) {
      failure = error as Error;
      await sleep(20);
    } finally {
      client.release(failure);
    }
  };
  const runs = [0, 1, 2, 3].map(async (offset) => {
    for (let index = offset; !isStopped; index += 4) {
      await write(workspaces[index % workspaces.length] ?? "").catch(() => sleep(20));
      await sleep(5);
    }
  });
  return {
    written,
    async stop() {
      isStopped = true;
      await Promise.all(runs);
      await pool.end();
    },
  };
}

const moveArgs = (shard: number, to: ServerName) => [
  ...["shards", "move", String(shard), "--to", to, "--config-file", configFile],
];

const listDatabases = async (server: ServerName) =>
  (
    await queryRows<{ name: string }>(
      shards.urlOf(server, "postgres"),
      "SELECT datname AS name FROM pg_database WHERE datname LIKE 'parley\\_%' ORDER BY 1",
    )
  ).map(({ name }) => name);

/** Returns what a move leaves behind on its source. */
const listReplication = async (server: ServerName, database: string) => ({
  slots: await queryRows(shards.urlOf(server, "postgres"), "SELECT slot_name FROM pg_replication_slots"),
  publications: await queryRows(shards.urlOf(server, database), "SELECT pubname FROM pg_publication"),
});

/** Throws unless the shard on the server has each written turn and id, and each id once. */
async function expectNothingLost(written: readonly Written[], shard: number, server: ServerName): Promise<void> {
  const url = shards.urlOf(server, `parley_${shard}`);
  const stored = await queryRows<{ id: string }>(url, "SELECT turn_id AS id FROM quota.ledger");
  const entries = await queryRows<{ id: string }>(
    url,
    "SELECT entry_id::text AS id FROM quota.audit_log WHERE method = 'Test'",
  );
  const own = await queryRows<{ id: string }>(url, "SELECT workspace_id AS id FROM quota.workspaces");
  const expected = written.filter(({ workspaceId }) => own.some(({ id }) => id === workspaceId));
  expect(expected.length).toBeGreaterThan(20);
  const turnIds = new Set(stored.map(({ id }) => id));
  const entryIds = new Set(entries.map(({ id }) => id));
  expect(expected.filter(({ turnId }) => !turnIds.has(turnId))).toEqual([]);
  expect(expected.filter(({ entryId }) => !entryIds.has(entryId))).toEqual([]);
  expect(new Set(expected.map(({ entryId }) => entryId)).size).toBe(expected.length);
}

test("a dry run and a cancelled move leave the source as it was", async () => {
  const before = await listReplication("b", "parley_1");
  expect(await runShards(shards.env, ...moveArgs(1, "c"), "--dry-run")).toMatch(
    /^parley_1 \(\d+ MiB\) would move from b to c\.$/m,
  );
  expect(await listDatabases("c")).toEqual([]);
  for (const step of ["subscribed", "copied"]) {
    await moveUntil(step, moveArgs(1, "c"), shards.env);
    const status = await runShards(shards.env, "shards", "status");
    expect(status).toMatch(/^ *1 {2}b .*moving to c$/m);
    expect(await runShards(shards.env, ...moveArgs(1, "c"), "--cancel")).toContain("parley_1 stays on b");
    expect(await listReplication("b", "parley_1")).toEqual(before);
    expect(await listDatabases("c")).toEqual([]);
  }
  await runShards(shards.env, "shards", "check");
});

test("a move whose process is killed after each step continues, and loses no row and no id", async () => {
  const load = startLoad();
  await sleep(500);
  for (const step of STEPS) await moveUntil(step, moveArgs(1, "c"), shards.env);
  const result = await runCliJson<{ from: string; to: string; usage_differences: number }>(
    moveArgs(1, "c"),
    shards.env,
  );
  expect(result).toMatchObject({ shard: 1, from: "b", to: "c", usage_differences: 0 });
  const before = load.written.length;
  await expect.poll(() => load.written.length).toBeGreaterThan(before + 50);
  await load.stop();
  await expectNothingLost(load.written, 1, "c");
  expect(await listDatabases("b")).toEqual(["parley_1_moved", "parley_3"]);
  expect(await listDatabases("c")).toEqual(["parley_1"]);
  expect(await listReplication("b", "parley_1_moved")).toEqual({ slots: [], publications: [] });
  await runShards(shards.env, "shards", "check");
  // A router that still leads there is refused.
  const stale = Object.assign(new URL(shards.urlOf("b", "parley_1_moved")), {
    username: "parley_quota",
    password: "password-of-the-shards",
  });
  await expect(queryRows(stale.href, "SELECT 1")).rejects.toMatchObject({ code: "53300" });
});

test("a move without an interruption keeps the shard available except for seconds, and the migrations accept its result", async () => {
  const load = startLoad();
  await sleep(500);
  const applied = join(dir, "applied.toml");
  const result = await runCliJson<{ fenced_seconds: number; usage_differences: number }>(
    [...moveArgs(0, "c"), "--reload", `cp '${configFile}' '${applied}'`],
    shards.env,
  );
  const target = new URL(shards.urlOf("c", "parley_0"));
  expect((await readShardUrls(applied))[0]).toBe(`postgres://${target.host}/parley_0`);
  await sleep(500);
  await load.stop();
  expect(result).toMatchObject({ usage_differences: 0 });
  expect(result.fenced_seconds).toBeLessThan(15);
  await expectNothingLost(load.written, 0, "c");
  await runShards(shards.env, "migrate");
  await runShards(shards.env, "shards", "check");
  expect(await runShards(shards.env, ...moveArgs(0, "c"))).toContain("parley_0 is on c already");
});

test("a copy that does not catch up in time reopens the source, and the next run completes the move", async () => {
  await moveUntil("copied", moveArgs(3, "a"), shards.env);
  // The copy cannot insert rows while this transaction locks its table.
  const blocker = new pg.Client({ connectionString: shards.urlOf("a", "parley_3_incoming") });
  await blocker.connect();
  await blocker.query("BEGIN; LOCK TABLE quota.audit_log IN ACCESS EXCLUSIVE MODE");
  await queryRows(
    shards.urlOf("b", "parley_3"),
    "INSERT INTO quota.audit_log (workspace_id, method, target, changed_fields) VALUES ('ws', 'Blocked', '{}', '{}')",
  );
  const { code, stderr } = await runCliInProcess([...moveArgs(3, "a"), "--fence-timeout", "1"], shards.env);
  expect(code).toBe(1);
  expect(stderr).toContain("parley_3_incoming was not up to date after 1 s");
  const load = startLoad();
  await expect.poll(() => load.written.length).toBeGreaterThan(50);
  expect(
    await queryRows(
      shards.urlOf("b", "postgres"),
      "SELECT datconnlimit AS limit FROM pg_database WHERE datname = 'parley_3'",
    ),
  ).toEqual([{ limit: -1 }]);
  await blocker.end();
  await runShards(shards.env, ...moveArgs(3, "a"));
  await load.stop();
  await expectNothingLost(load.written, 3, "a");
});

test.each([
  { shard: 0, to: "a", problem: "server c has wal_level replica: set wal_level = logical and restart it" },
  { shard: 2, to: "d", problem: "there is no server d in PARLEY_SHARD_SERVERS: a, b, c" },
])("refuses a move that cannot succeed: $problem", async ({ shard, to, problem }) => {
  const { code, stderr } = await runCliInProcess(
    ["shards", "move", String(shard), "--to", to, "--reload", "true"],
    shards.env,
  );
  expect(code).toBe(1);
  expect(stderr).toContain(problem);
});

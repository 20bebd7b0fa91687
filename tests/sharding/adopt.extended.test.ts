import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { queryRows, shardOf } from "@parley/test-support";
import pg from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { runCliInProcess, runCliJson } from "../system/cli.ts";
import {
  ADMINISTRATOR,
  moveUntil,
  runShards,
  SHARDS,
  type ShardServers,
  startConfiguredRouter,
  startShardServers,
} from "./shard-servers.ts";

// `parley shards adopt`: the database parley on server a becomes four shards on the servers a and b, under a write load. The tests depend on each
// other, in this order.

const MONTH = "2026-12-01";
/** The steps of an adoption. Each is a line of its progress. */
const STEPS = ["subscribed", "copied", "fenced", "caught up", "detached", "switched", "reloaded"];
const SERVER_OF = ["a", "b", "a", "b"] as const;

// An adoption waits for PostgreSQL's workers, which takes minutes on a busy machine.
vi.setConfig({ testTimeout: 600_000 });

let shards: ShardServers;
let dir: string;
/** The command of --reload creates this file, after which the load uses the router. */
let switchFile: string;
const urlOfShard = (number: number) => shards.urlOf(SERVER_OF[number] ?? "a", `parley_${number}`);
const singleUrl = () => shards.urlOf("a", "parley");
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-adopt-"));
  switchFile = join(dir, "switched");
  shards = await startShardServers(["a", "b"], ["a", "b"]);
  await runShards(shards.env, "shards", "init");
  await queryRows(shards.urlOf("a", "postgres"), `CREATE DATABASE parley OWNER ${ADMINISTRATOR}`);
  const administratorUrl = new URL(shards.routerUrlOf(ADMINISTRATOR));
  const { DATABASE_SHARDS: _, ...env } = shards.env;
  const { host } = new URL(singleUrl());
  await runShards({ ...env, DATABASE_URL: Object.assign(administratorUrl, { host }).href }, "migrate");
  await startConfiguredRouter(shards, shards.env, dir);
  await runShards(shards.env, "migrate");
});
afterAll(async () => {
  await shards[Symbol.asyncDispose]();
  await rm(dir, { recursive: true });
});

type Written = { workspaceId: string; turnId: string; entryId: string };

/** Returns the URL that the services use now, as the role of quota. */
function currentUrl(): string {
  const routerUrl = shards.routerUrlOf("parley_quota");
  if (existsSync(switchFile)) return routerUrl;
  const { host, pathname } = new URL(singleUrl());
  return Object.assign(new URL(routerUrl), { host, pathname }).href;
}

/** Creates workspaces and counts turns until stop() is called. Repeats a turn that fails with another one. */
function startLoad() {
  const written: Written[] = [];
  let isStopped = false;
  const write = async (client: pg.Client, workspaceId: string) => {
    const turnId = randomUUID();
    await client.query("BEGIN");
    await client.query(
      "INSERT INTO quota.workspaces (workspace_id, name, plan) VALUES ($1, 'A shop', 'free') ON CONFLICT DO NOTHING",
      [workspaceId],
    );
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
  };
  const run = async (offset: number) => {
    for (let index = offset; !isStopped; ) {
      const client = new pg.Client({ connectionString: currentUrl() });
      client.on("error", () => undefined);
      try {
        await client.connect();
        // Every hundredth turn is the first of a new workspace.
        for (; !isStopped; index += 2) {
          await write(client, `ws_${(index % 40) + 40 * Math.floor(index / 4_000)}_${Math.floor(index / 100)}`);
          await sleep(5);
        }
      } catch {
        await sleep(50);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  };
  const runs = [run(0), run(1)];
  return {
    written,
    async stop() {
      isStopped = true;
      await Promise.all(runs);
    },
  };
}

const ADOPT = ["shards", "adopt", "--from", "a"];
const readLimit = () =>
  queryRows(shards.urlOf("a", "postgres"), "SELECT datconnlimit AS limit FROM pg_database WHERE datname = 'parley'");

test("a dry run changes nothing, and a cancelled adoption leaves the database as it was", async () => {
  expect(await runShards(shards.env, ...ADOPT, "--dry-run")).toMatch(
    /^parley on a \(\d+ MiB\) would become 4 shards, and be named parley_adopted\.$/m,
  );
  await moveUntil("copied", ADOPT, shards.env);
  expect(await runShards(shards.env, ...ADOPT, "--cancel")).toContain("parley stays on a");
  expect(await queryRows(shards.urlOf("a", "postgres"), "SELECT slot_name FROM pg_replication_slots")).toEqual([]);
  expect(await queryRows(singleUrl(), "SELECT pubname FROM pg_publication")).toEqual([]);
  expect(await readLimit()).toEqual([{ limit: -1 }]);
});

test("shards that have workspaces are refused", async () => {
  const insert = "INSERT INTO quota.workspaces (workspace_id, name, plan) VALUES ('other', 'A shop', 'free')";
  await queryRows(urlOfShard(1), insert.replace("INSERT", "SET session_replication_role = replica; INSERT"));
  const { code, stderr } = await runCliInProcess(ADOPT, shards.env);
  await queryRows(urlOfShard(1), "DELETE FROM quota.workspaces");
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining("parley_1 has workspaces: the shards must be empty"),
  });
});

test("an adoption whose process is killed after each step continues, and each acknowledged row is on its shard once", async () => {
  const load = startLoad();
  await expect.poll(() => load.written.length, { timeout: 60_000 }).toBeGreaterThan(100);
  const args = [...ADOPT, "--reload", `touch '${switchFile}'`];
  for (const step of STEPS) await moveUntil(step, args, shards.env);
  const result = await runCliJson<{ usage_differences: number }>(args, shards.env);
  expect(result).toMatchObject({ database: "parley", shards: SHARDS, usage_differences: 0 });
  const before = load.written.length;
  await expect.poll(() => load.written.length, { timeout: 60_000 }).toBeGreaterThan(before + 50);
  await load.stop();
  const stored = await Promise.all(
    SERVER_OF.map(async (_server, number) => ({
      turns: await queryRows<{ id: string; workspace: string }>(
        urlOfShard(number),
        "SELECT turn_id::text AS id, workspace_id AS workspace FROM quota.ledger",
      ),
      entries: await queryRows<{ id: string }>(
        urlOfShard(number),
        "SELECT entry_id::text AS id FROM quota.audit_log WHERE method = 'Test'",
      ),
    })),
  );
  for (const [number, { turns }] of stored.entries()) {
    expect(turns.length).toBeGreaterThan(0);
    expect(turns.filter(({ workspace }) => shardOf(workspace, SHARDS) !== number)).toEqual([]);
  }
  const countOf = (ids: readonly string[]) => {
    const counts = new Map<string, number>();
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
    return counts;
  };
  const turns = countOf(stored.flatMap((each) => each.turns.map(({ id }) => id)));
  const entries = countOf(stored.flatMap((each) => each.entries.map(({ id }) => id)));
  expect(load.written.filter(({ turnId }) => turns.get(turnId) !== 1)).toEqual([]);
  expect(load.written.filter(({ entryId }) => entries.get(entryId) !== 1)).toEqual([]);
  expect(await runShards(shards.env, "shards", "check")).toContain("passed");
  expect(await runShards(shards.env, ...ADOPT)).toContain("has been adopted: it is named parley_adopted");
});

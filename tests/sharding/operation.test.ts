import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { queryRows, type ShardRouter } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCliInProcess, runCliJson } from "../system/cli.ts";
import {
  addWorkspaces,
  runShards,
  SHARDS,
  type ShardServers,
  startConfiguredRouter,
  startShardServers,
} from "./shard-servers.ts";

// The commands of `parley shards` on four shards on two servers. The tests depend on each other, in this order.

let shards: ShardServers;
let router: ShardRouter | undefined;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-shards-"));
  shards = await startShardServers(["a", "b"]);
});
afterAll(async () => {
  await shards[Symbol.asyncDispose]();
  await rm(dir, { recursive: true });
});

const SERVER_OF = ["a", "b", "a", "b"] as const;
const urlOfShard = (number: number) => shards.urlOf(SERVER_OF[number] ?? "a", `parley_${number}`);
const shardUrls = () => Array.from({ length: SHARDS }, (_, number) => urlOfShard(number));

type Finding = { check: string; shard: number | null; problem: string | null };

/** Returns the exit code of `check`, and the problems. */
async function check(): Promise<{ code: number | null; problems: Finding[] }> {
  const { code, stdout, stderr } = await runCliInProcess(["shards", "check", "--json"], shards.env);
  if (stdout === "") throw new Error(stderr);
  return { code, problems: (JSON.parse(stdout) as Finding[]).filter(({ problem }) => problem !== null) };
}

/** Replaces the router for one test. */
async function withRouter<T>(options: { shardUrls: string[]; isStrict?: boolean }, work: () => Promise<T>): Promise<T> {
  await router?.stop();
  const other = await shards.startRouter(options);
  try {
    return await work();
  } finally {
    await other.stop();
    router = await startConfiguredRouter(shards, shards.env, dir);
  }
}

test("plan shows the databases before and after init, and init creates them once", async () => {
  type Plan = { shards: { server: string; state: string; first_id: number }[]; roles: string[] };
  const plan = () => runCliJson<Plan>(["shards", "plan"], shards.env);
  const before = await plan();
  expect(before.shards.map(({ server, state }) => [server, state])).toEqual(SERVER_OF.map((server) => [server, "new"]));
  expect(before.shards.map(({ first_id }) => first_id)).toEqual([1, 100000000000001, 200000000000001, 300000000000001]);
  expect(before.roles).toEqual(["parley_admin", "parley_conversation", "parley_quota", "parley_llm"]);
  const init = await runCliInProcess(["shards", "init"], shards.env);
  expect(init).toMatchObject({ code: 0, stdout: expect.stringContaining("created parley_3 on b") });
  expect(init.stdout + init.stderr).not.toContain("password");
  expect((await plan()).shards.map(({ state }) => state)).toEqual(["exists", "exists", "exists", "exists"]);
  expect(await runShards(shards.env, "shards", "init")).toContain("Everything exists.");
  for (const number of [0, 1, 2, 3])
    expect(await queryRows(urlOfShard(number), "SELECT current_setting('parley.shard') AS number")).toEqual([
      { number: String(number) },
    ]);
});

test("config has every shard and alias, strict mode and no password", async () => {
  for (const file of ["pgdog.toml", "values.yaml"]) {
    const config = await runShards(shards.env, "shards", "config", file);
    expect(config).toMatch(/cross_?shard_?disabled(: | = )true/i);
    expect(config.match(/parley_3\b/g)).toHaveLength(3);
    expect(config).not.toContain("password-of");
  }
  const users = await runShards(shards.env, "shards", "config", "users.toml");
  expect(users.match(/^\[\[users\]\]$/gm)).toHaveLength(3 * (SHARDS + 1) + SHARDS);
  expect(users).toContain(`password = '''\${QUOTA_DATABASE_PASSWORD}'''`);
});

test("status reports a shard without schemas, and check reports it as a problem", async () => {
  router = await startConfiguredRouter(shards, shards.env, dir);
  const rows = await runCliJson<{ migrations: (string | null)[] }[]>(["shards", "status"], shards.env);
  expect(rows.map(({ migrations }) => migrations)).toEqual(SERVER_OF.map(() => [null, null, null]));
});

test("each service's role sees the workspace_id of all tables, as the router needs it", async () => {
  await runShards(shards.env, "migrate");
  const count = (url: string) =>
    queryRows(
      url,
      `SELECT count(*)::integer AS tables FROM information_schema.columns
       WHERE column_name = 'workspace_id' AND table_schema IN ('conversation', 'quota', 'llm')`,
    );
  const all = await count(urlOfShard(0));
  for (const role of ["parley_conversation", "parley_quota", "parley_llm"])
    expect(await count(router?.through(shards.routerUrlOf(role), 0) ?? "")).toEqual(all);
  // PgDog reads the tables when it starts.
  await queryRows(shards.env.PARLEY_ROUTER_ADMIN_URLS ?? "", "RELOAD");
});

test("check passes after the migrations, and status shows the schemas", async () => {
  await addWorkspaces(shards, 20);
  expect(await check()).toEqual({ code: 0, problems: [] });
  const { code, stdout } = await runCliInProcess(["shards", "status"], shards.env);
  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1 + SHARDS);
  expect(stdout).toMatch(/^ *3 {2}b .* none .*0001_baseline.* never .*ok$/m);
});

test("check finds a router that is not strict", async () => {
  const { code, problems } = await withRouter({ shardUrls: shardUrls(), isStrict: false }, check);
  expect(code).toBe(1);
  expect(problems).toEqual([
    { check: "strict mode", shard: null, problem: expect.stringContaining("cross_shard_disabled = true") },
  ]);
});

test("check finds aliases that lead to each other's shards, and workspaces that the router does not find", async () => {
  const [first = "", second = "", ...others] = shardUrls();
  const { code, problems } = await withRouter({ shardUrls: [second, first, ...others] }, check);
  expect(code).toBe(1);
  expect(problems).toEqual(
    expect.arrayContaining([
      { check: "alias", shard: 0, problem: "the alias leads to parley_1, which has parley.shard 1" },
      { check: "alias", shard: 1, problem: "the alias leads to parley_0, which has parley.shard 0" },
      {
        check: "workspaces",
        shard: 0,
        problem: expect.stringMatching(/^the router sends workspace ws_\d+ to shard 1$/),
      },
    ]),
  );
});

test("check finds wrong ids, a missing migration and usage that differs from the ledger", async () => {
  await queryRows(urlOfShard(1), "SELECT setval('quota.audit_log_entry_id_seq', 7)");
  await queryRows(urlOfShard(2), "UPDATE llm.migrations SET name = '0000_other'");
  await queryRows(
    urlOfShard(3),
    "INSERT INTO quota.usage (workspace_id, month, used) VALUES ('ws_lost', '2026-10-01', 2000000000), ('ws_lost', '2026-11-01', 2000000000)",
  );
  const { code, problems } = await check();
  expect(code).toBe(1);
  expect(problems).toEqual([
    { check: "ids", shard: 1, problem: "ids of another shard: quota.audit_log_entry_id_seq at 7" },
    { check: "usage accounting", shard: 3, problem: expect.stringContaining("in 2 workspace months") },
    { check: "versions", shard: 2, problem: expect.stringContaining("0000_other") },
  ]);
});

test("status shows a dead server's shards with their error, and exits 1", async () => {
  await shards.servers.get("b")?.kill9();
  const { code, stdout } = await runCliInProcess(["shards", "status", "--json"], shards.env);
  expect(code).toBe(1);
  const rows = JSON.parse(stdout) as { shard: number; server: string | null; error?: string }[];
  expect(rows).toMatchObject([
    { shard: 0, server: "a" },
    { shard: 1, server: null, error: expect.stringContaining("server b: ") },
    { shard: 2, server: "a" },
    { shard: 3, server: null, error: expect.stringContaining("server b: ") },
  ]);
  expect(rows.filter(({ error }) => error === undefined)).toHaveLength(2);
  const init = await runCliInProcess(["shards", "init"], shards.env);
  expect(init).toMatchObject({ code: 1, stderr: expect.stringContaining("server b is not available") });
});

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  freePort,
  nodeFlags,
  queryRows,
  ROUTER_ADMIN_PASSWORD,
  readShardUrls,
  type ShardRouter,
  type ShardRouterOptions,
  startProcess,
  startShardRouter,
  startTestPostgres,
  type TestPostgres,
} from "@parley/test-support";
import { runCliInProcess } from "../system/cli.ts";
import { root } from "../system/processes.ts";

export const SHARDS = 4;
const PASSWORD = "password-of-the-shards";
export const ADMINISTRATOR = "parley_admin";

export type ServerName = "a" | "b" | "c";

/** Enough for one copy to each shard at a time, all on one server. */
const LOGICAL = {
  wal_level: "logical",
  max_replication_slots: 40,
  max_wal_senders: 40,
  max_logical_replication_workers: 16,
  max_worker_processes: 24,
  max_prepared_transactions: 2,
};

/** Servers for shards, which `parley shards init` has to fill, and the environment of the CLI. */
export type ShardServers = AsyncDisposable & {
  servers: ReadonlyMap<ServerName, TestPostgres>;
  env: Record<string, string>;
  /** The URL of a database for a superuser. */
  urlOf(server: ServerName, database: string): string;
  /** The URL of the router's sharded database for a service's role. */
  routerUrlOf(role: string): string;
  /** Starts the router on the port in `env`. It stops with the servers. */
  startRouter(
    options: Pick<ShardRouterOptions, "shardUrls" | "isStrict" | "configFile" | "usersFile">,
  ): Promise<ShardRouter>;
};

/** The servers of `names` log for logical replication if `isLogical` contains their name. */
export async function startShardServers(
  names: readonly ServerName[],
  isLogical: readonly ServerName[] = [],
): Promise<ShardServers> {
  await using resources = new AsyncDisposableStack();
  const servers = new Map<ServerName, TestPostgres>();
  for (const name of names) {
    const server = await startTestPostgres({ preferMemory: true });
    resources.defer(() => server.stop());
    servers.set(name, server);
    if (!isLogical.includes(name)) continue;
    for (const [setting, value] of Object.entries(LOGICAL))
      await queryRows(server.url, `ALTER SYSTEM SET ${setting} = ${value}`);
    await server.restart();
  }
  const port = await freePort();
  const routerUrl = (user: string) => `postgres://${user}:${PASSWORD}@127.0.0.1:${port}/parley`;
  const running = resources.move();
  return {
    servers,
    env: {
      DATABASE_URL: routerUrl(ADMINISTRATOR),
      DATABASE_SHARDS: String(SHARDS),
      PARLEY_SHARD_SERVERS: [...servers].map(([name, { url }]) => `${name}=${url}`).join("\n"),
      PARLEY_ROUTER_ADMIN_URLS: `postgres://admin:${ROUTER_ADMIN_PASSWORD}@127.0.0.1:${port}/admin`,
      CONVERSATION_DATABASE_PASSWORD: PASSWORD,
      QUOTA_DATABASE_PASSWORD: PASSWORD,
      LLM_DATABASE_PASSWORD: PASSWORD,
    },
    urlOf: (server, database) => Object.assign(new URL(servers.get(server)?.url ?? ""), { pathname: database }).href,
    routerUrlOf: routerUrl,
    async startRouter(options) {
      const router = await startShardRouter({ ...options, port });
      running.defer(() => router.stop());
      return router;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Runs a command that must succeed. Returns its output. */
export async function runShards(env: Record<string, string>, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCliInProcess(args, env);
  if (code !== 0) throw new Error(`parley ${args.join(" ")} exited ${code}: ${stdout}${stderr}`);
  return stdout;
}

/** Starts a move or an adoption, and kills its process when it reports a step. */
export async function moveUntil(step: string, args: readonly string[], env: Record<string, string>): Promise<void> {
  const parley = await startProcess({
    name: "parley shards move",
    command: process.execPath,
    args: [...nodeFlags, `${root}packages/cli/src/main.ts`, ...args],
    cwd: root,
    env,
    ready: new RegExp(`^parley(_\\d+)?: ${step}$`, "m"),
    readyTimeoutMs: 300_000,
  });
  await parley.waitReady();
  await parley.kill9();
}

/** Starts the router with the files that `parley shards config` prints. Writes them to a directory. */
export async function startConfiguredRouter(shards: ShardServers, env: Record<string, string>, directory: string) {
  const [configFile, usersFile] = [join(directory, "pgdog.toml"), join(directory, "users.toml")];
  await writeFile(configFile, await runShards(env, "shards", "config", "pgdog.toml"));
  const users = await runShards(env, "shards", "config", "users.toml");
  await writeFile(usersFile, users.replaceAll(/\$\{\w+_PASSWORD\}/g, PASSWORD));
  return shards.startRouter({ shardUrls: await readShardUrls(configFile), configFile, usersFile });
}

/** Adds workspaces through the router. Returns their ids. */
export async function addWorkspaces({ routerUrlOf }: ShardServers, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `ws_${index}`);
  for (const id of ids)
    await queryRows(
      routerUrlOf("parley_quota"),
      "INSERT INTO quota.workspaces (workspace_id, name, plan) VALUES ($1, 'A shop', 'free')",
      [id],
    );
  return ids;
}

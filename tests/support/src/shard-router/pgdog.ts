import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { queryRows } from "../database.ts";
import { freePort } from "../ports.ts";
import { startProcess } from "../process.ts";
import { shardOf } from "./hash.ts";
import type { ShardRouter, ShardRouterOptions } from "./options.ts";

const DATABASE = "parley";
/** The password of the user `admin` of the database `admin`. */
export const ROUTER_ADMIN_PASSWORD = "password-of-the-router";

/** Starts PgDog, whose program is `command`, on 127.0.0.1. It checks each client's password by a login at the shards. */
export async function startPgdog(command: string, options: ShardRouterOptions): Promise<ShardRouter> {
  const { shardUrls, port = await freePort() } = options;
  const directory = await mkdtemp(join(tmpdir(), "parley-pgdog-"));
  const { configFile = join(directory, "pgdog.toml"), usersFile = join(directory, "users.toml") } = options;
  if (options.configFile === undefined) await writeFile(configFile, createConfig(options));
  if (options.usersFile === undefined) await writeFile(usersFile, createUsers(shardUrls));
  const adminUrl = `postgres://admin:${ROUTER_ADMIN_PASSWORD}@127.0.0.1:${port}/admin`;
  const router = await startProcess({
    name: "PgDog",
    command,
    args: ["--config", configFile, "--users", usersFile],
    env: { PGDOG_HOST: "127.0.0.1", PGDOG_PORT: `${port}`, PGDOG_ADMIN_PASSWORD: ROUTER_ADMIN_PASSWORD, NO_COLOR: "1" },
    ready: () =>
      queryRows(adminUrl, "SHOW VERSION").then(
        () => true,
        () => false,
      ),
  });
  await router.waitReady();
  return {
    port,
    through: (url, shard) => {
      const pathname = shard === undefined ? `/${DATABASE}` : `/${DATABASE}_${shard}`;
      return Object.assign(new URL(url), { hostname: "127.0.0.1", port: String(port), pathname }).href;
    },
    shardOf: (workspaceId) => shardOf(workspaceId, shardUrls.length),
    get refusals() {
      const refused = router.output().matchAll(/ERROR.*"(cross-shard queries are disabled)"/g);
      return Array.from(refused, ([, reason = ""]) => ({ statement: "", reason }));
    },
    async stop() {
      if (process.env.PARLEY_TEST_STATEMENTS) await recordStatements(adminUrl, process.env.PARLEY_TEST_STATEMENTS);
      await router.kill9();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Appends the statements of the sharded database to a file: each on a line, as JSON. */
async function recordStatements(adminUrl: string, file: string): Promise<void> {
  const statements = await queryRows<{ query: string }>(adminUrl, "SHOW QUERY_CACHE");
  await appendFile(file, statements.map(({ query }) => `${JSON.stringify(query)}\n`).join(""));
}

/** Reads the shards' databases from a pgdog.toml, in the order of the shards. */
export async function readShardUrls(configFile: string): Promise<string[]> {
  const blocks = (await readFile(configFile, "utf8")).split("[[").filter((block) => block.startsWith("databases]]"));
  const shards = blocks.flatMap((block) => {
    const readValue = (key: string) => new RegExp(`^${key} = "?([^"\n]*)"?$`, "m").exec(block)?.[1] ?? "";
    const url = `postgres://${readValue("host")}:${readValue("port")}/${readValue("database_name")}`;
    return readValue("shard") === "" ? [] : [{ number: Number(readValue("shard")), url }];
  });
  return shards.sort((a, b) => a.number - b.number).map(({ url }) => url);
}

/** Returns a pgdog.toml with the settings of `parley shards config`, which creates users when they log in. */
function createConfig({ shardUrls, poolSize = 20, isStrict = true }: ShardRouterOptions): string {
  const databases = shardUrls.map((url) => {
    const { hostname, port, pathname } = new URL(url);
    const database = decodeURIComponent(pathname.slice(1));
    return `host = "${hostname}"\nport = ${port}\ndatabase_name = "${database}"\n`;
  });
  return [
    `[general]
cross_shard_disabled = ${isStrict}
prepared_statements = "extended"
pooler_mode = "transaction"
checkout_timeout = 5000
default_pool_size = ${poolSize}
passthrough_auth = "enabled_plain"
`,
    ...databases.map((place, shard) => `[[databases]]\nname = "${DATABASE}"\nshard = ${shard}\n${place}`),
    ...databases.map((place, shard) => `[[databases]]\nname = "${DATABASE}_${shard}"\n${place}`),
    `[[sharded_tables]]\ndatabase = "${DATABASE}"\ncolumn = "workspace_id"\ndata_type = "varchar"\n`,
  ].join("\n");
}

/** Returns a users.toml in which the superuser, who runs the migrations in the tests, has sessions. */
function createUsers(shardUrls: readonly string[]): string {
  const { username, password } = new URL(shardUrls[0] ?? "");
  const name = decodeURIComponent(username);
  return shardUrls
    .map((_url, shard) =>
      [
        "[[users]]",
        `name = "${name}"`,
        `password = "${decodeURIComponent(password)}"`,
        `database = "${DATABASE}_${shard}"`,
        'pooler_mode = "session"\n',
      ].join("\n"),
    )
    .join("\n");
}

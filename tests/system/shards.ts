import {
  createDatabase,
  queryRows,
  type ShardRouter,
  startShardRouter,
  startTestPostgres,
  type TestDatabase,
} from "@parley/test-support";
import { runMigrations, SERVICE_ROLE_PASSWORD, SERVICES_WITH_DATABASE } from "./processes.ts";

/** Migrated databases on two servers behind a router. `url` leads to the sharded database, so SQL there needs a workspace_id. */
export type TestShards = TestDatabase & {
  router: ShardRouter;
  shards: TestDatabase[];
};

/** Creates `count` shards on a server and on another one in turn. `drop` also stops the router and the other server. */
export async function createShards(count: number, serverUrl: string): Promise<TestShards> {
  await using resources = new AsyncDisposableStack();
  const servers = [serverUrl, await startOtherServer(serverUrl, resources)];
  const shards: TestDatabase[] = [];
  for (let number = 0; number < count; number++) {
    const shard = await createDatabase(undefined, { serverUrl: servers[number % servers.length] ?? "" });
    resources.defer(() => shard.drop());
    shards.push(shard);
  }
  const router = await startShardRouter({ shardUrls: shards.map(({ url }) => url) });
  resources.defer(() => router.stop());
  const url = router.through(shards[0]?.url ?? "");
  const env = { DATABASE_SHARDS: String(count) };
  await Promise.all(SERVICES_WITH_DATABASE.map((name) => runMigrations(name, url, SERVICE_ROLE_PASSWORD, env)));
  const running = resources.move();
  return { name: new URL(url).pathname.slice(1), url, router, shards, drop: () => running.disposeAsync() };
}

/** Returns PARLEY_TEST_SHARDS, the number of databases of the systems that the tests start; 1 means one database without a router. */
export const readTestShards = (): number => Number(process.env.PARLEY_TEST_SHARDS ?? 1);

export const isSharded = (database: TestDatabase): database is TestShards => "router" in database;

/** Returns the database that has a workspace's rows. Unlike the sharded database, it accepts statements without a workspace_id. */
export function databaseOf(
  { database, shards }: { database: Pick<TestDatabase, "url">; shards: TestShards | undefined },
  workspaceId: string,
): Pick<TestDatabase, "url"> {
  return shards?.shards[shards.router.shardOf(workspaceId)] ?? database;
}

/** Starts a server whose superuser has the password of the first server's, as a router requires. Returns its URL. */
async function startOtherServer(firstUrl: string, resources: AsyncDisposableStack): Promise<string> {
  const { url, stop } = await startTestPostgres({ preferMemory: true });
  resources.defer(stop);
  const { username, password } = new URL(firstUrl);
  await queryRows(url, `ALTER ROLE "${username}" PASSWORD '${password}'`);
  return Object.assign(new URL(url), { username, password }).href;
}

import {
  createDatabase,
  type ShardRouter,
  startShardRouter,
  startTestPostgres,
  type TestDatabase,
  type TestPostgres,
} from "@parley/test-support";
import { runMigrations, SERVICE_ROLE_PASSWORD, SERVICES_WITH_DATABASE } from "./processes.ts";

/** Migrated databases on two servers behind a router. `url` leads to the sharded database, so SQL there needs a workspace_id. */
export type TestShards = TestDatabase & {
  router: ShardRouter;
  shards: TestDatabase[];
  shardUrls: string[];
  /** The server of the shards with an odd number. */
  secondServer: TestPostgres;
};

/** Creates `count` shards on a server and on another one in turn. `drop` also stops the router and the other server. */
export async function createShards(count: number, serverUrl: string): Promise<TestShards> {
  await using resources = new AsyncDisposableStack();
  // Superusers have one password on all servers, as a router requires.
  const { password } = new URL(serverUrl);
  const secondServer = await startTestPostgres({ preferMemory: true, password });
  resources.defer(() => secondServer.stop());
  const servers = [serverUrl, secondServer.url];
  const shards: TestDatabase[] = [];
  for (let number = 0; number < count; number++) {
    const shard = await createDatabase(undefined, { serverUrl: servers[number % servers.length] ?? "" });
    resources.defer(() => shard.drop());
    shards.push(shard);
  }
  const shardUrls = shards.map(({ url }) => url);
  const router = await startShardRouter({ shardUrls });
  resources.defer(() => router.stop());
  const url = router.through(shards[0]?.url ?? "");
  const env = { DATABASE_SHARDS: String(count) };
  await Promise.all(SERVICES_WITH_DATABASE.map((name) => runMigrations(name, url, SERVICE_ROLE_PASSWORD, env)));
  const running = resources.move();
  const name = new URL(url).pathname.slice(1);
  return { name, url, router, shards, shardUrls, secondServer, drop: () => running.disposeAsync() };
}

/** Returns PARLEY_TEST_SHARDS, the number of databases of the systems that the tests start; 1 means one database without a router. */
export const readTestShards = (): number => Number(process.env.PARLEY_TEST_SHARDS ?? 1);

export const isSharded = (database: TestDatabase): database is TestShards => "router" in database;

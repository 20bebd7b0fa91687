import { queryRows, type ShardRouter, startShardRouter } from "@parley/test-support";
import { inject, onTestFinished } from "vitest";
import { openTurn } from "../turns/open-turn.store.ts";
import { createTestDatabase, ROLE, type TestDatabase } from "./database.ts";
import { startTestQuota } from "./quota.ts";
import { startTestService } from "./service.ts";
import { createBot, newTurn, runTurn } from "./turns.ts";

/** A shard that a test can stop: it then refuses the service's connections, and closes those that are open. */
export type TestShard = TestDatabase & { stop(): Promise<void>; resume(): Promise<void> };

type TestShards = {
  /** The URL of the sharded database, behind the router. */
  url: string;
  router: ShardRouter;
  shards: TestShard[];
  drop(): Promise<void>;
};

/** Creates the databases of shards, and starts a router in front of them. */
async function createTestShards(count: number): Promise<TestShards> {
  const shards: TestShard[] = [];
  for (let number = 0; number < count; number++) shards.push(await createTestShard(number));
  const router = await startShardRouter({ shardUrls: shards.map(({ url }) => url) });
  const drop = async () => {
    await router.stop();
    for (const shard of shards) await shard.drop();
  };
  return { url: router.through(shards[0]?.url ?? ""), router, shards, drop };
}

async function createTestShard(number: number): Promise<TestShard> {
  const database = await createTestDatabase({ shard: number });
  const name = new URL(database.url).pathname.slice(1);
  const alter = (sql: string) => queryRows(inject("postgresUrl"), sql);
  return {
    ...database,
    stop: async () => {
      await alter(`ALTER DATABASE ${name} CONNECTION LIMIT 0`);
      await alter(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND usename = '${ROLE}'`,
      );
    },
    resume: async () => void (await alter(`ALTER DATABASE ${name} CONNECTION LIMIT -1`)),
  };
}

/** Starts the service over two shards behind a router. */
export async function startShardedService(env: Record<string, string> = {}) {
  const { url, router, shards, drop } = await createTestShards(2);
  const quota = await startTestQuota();
  const service = await startTestService(url, quota.target, { DATABASE_SHARDS: "2", ...env });
  onTestFinished(async () => {
    await service.stop();
    await quota.close();
    await drop();
  });
  const isReady = async () => (await fetch(`${service.opsUrl}/healthz/ready`)).ok;
  const metrics = async () => (await fetch(`${service.opsUrl}/metrics`)).text();
  const [first, second] = shards as [TestShard, TestShard];
  return { ...service, router, first, second, quota, isReady, metrics };
}

/** Closes a turn and leaves another one open for an hour. Returns their ids. */
export async function addTurns({ database, admin }: TestShard) {
  const bot = await createBot(database);
  const [closed, abandoned] = [newTurn(bot), newTurn(bot)];
  await runTurn(database, closed);
  await openTurn(database, abandoned);
  await admin.query("UPDATE conversation.turns SET opened_at = now() - interval '1 hour' WHERE turn_id = $1", [
    abandoned.turnId,
  ]);
  return { workspaceId: bot.workspaceId, closed: closed.turnId, abandoned: abandoned.turnId };
}

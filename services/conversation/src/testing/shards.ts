import { randomBytes } from "node:crypto";
import { queryRows } from "@parley/test-support";
import { inject } from "vitest";
import { createTestDatabase, ROLE, type TestDatabase } from "./database.ts";

/** A shard that a test can stop: it then refuses the service's connections, and closes those that are open. */
export type TestShard = TestDatabase & { stop(): Promise<void>; resume(): Promise<void> };

/**
 * Creates databases as a router would serve them, without a router: `url` is that of the sharded database, and each shard has its name and number.
 * The sharded database has a schema too, but no data of the shards.
 */
export async function createTestShards(
  count: number,
): Promise<{ url: string; shards: TestShard[]; drop(): Promise<void> }> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  const sharded = await createTestDatabase({ name });
  const shards: TestShard[] = [];
  for (let number = 0; number < count; number++) {
    const shardName = `${name}_${number}`;
    const alter = (sql: string) => queryRows(inject("postgresUrl"), sql);
    shards.push({
      ...(await createTestDatabase({ name: shardName, shard: number })),
      stop: async () => {
        await alter(`ALTER DATABASE ${shardName} CONNECTION LIMIT 0`);
        await alter(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${shardName}' AND usename = '${ROLE}'`,
        );
      },
      resume: async () => void (await alter(`ALTER DATABASE ${shardName} CONNECTION LIMIT -1`)),
    });
  }
  const drop = async () => {
    for (const database of [sharded, ...shards]) await database.drop();
  };
  return { url: sharded.url, shards, drop };
}

import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase, type TestDatabase } from "../database.ts";
import { shardOf } from "./hash.ts";

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await createDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query("CREATE TABLE parent (workspace_id text) PARTITION BY HASH (workspace_id)");
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

// Texts of all lengths up to 40 bytes, which cover each number of bytes after the last block of twelve.
const keys = Array.from({ length: 41 }, (_, length) => "ws_Ä0123456789abcdefghijklmnopqrstuvwxyz€".slice(0, length));

test.each([1, 2, 4, 7, 64])("a key's shard of %i is its hash partition", async (shards) => {
  const { rows } = await client.query<{ key: string; partition: number }>(
    `SELECT key, number AS partition FROM unnest($1::text[]) AS key, generate_series(0, $2 - 1) AS number
     WHERE satisfies_hash_partition('parent'::regclass, $2, number, key)`,
    [keys, shards],
  );
  expect(rows).toHaveLength(keys.length);
  expect(rows.map(({ key }) => ({ key, partition: shardOf(key, shards) }))).toEqual(rows);
});

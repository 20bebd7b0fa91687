import { randomBytes } from "node:crypto";
import { createDatabase, queryRows as query } from "@parley/test-support";
import { expect, inject, onTestFinished, test } from "vitest";
import { migrate } from "./migrate.ts";
import type { Migration } from "./migrate-options.ts";

const createTable = (name: string): Migration => ({
  name: `0001_${name}`,
  up: (knex) => knex.raw(`CREATE TABLE things.${name} (id bigint GENERATED ALWAYS AS IDENTITY)`),
  down: (knex) => knex.raw(`DROP TABLE things.${name}`),
});

test("ids start at 1, and on shard 3 at 3 × 10^14 + 1; a later migration does not change the sequences in use", async () => {
  const role = `parley_test_${randomBytes(4).toString("hex")}`;
  const databases = [await createDatabase(), await createDatabase()] as const;
  onTestFinished(async () => {
    for (const { drop } of databases) await drop();
    await query(inject("postgresUrl"), `DROP ROLE IF EXISTS ${role}`);
  });
  const [alone, third] = databases;
  await query(third.url, `ALTER DATABASE ${third.name} SET parley.shard = 3`);
  const ids: unknown[] = [];
  for (const { url } of databases) {
    const run = (...migrations: Migration[]) =>
      migrate({ url, schema: "things", role, rolePassword: "password", migrations });
    const insert = (table: string) => query(url, `INSERT INTO things.${table} DEFAULT VALUES RETURNING id`);
    await run(createTable("first"));
    ids.push(...(await insert("first")));
    await run(createTable("first"), createTable("second"));
    ids.push(...(await insert("first")), ...(await insert("second")));
  }
  const [one, two] = ["300000000000001", "300000000000002"];
  expect(ids).toEqual(["1", "2", "1", one, two, one].map((id) => ({ id })));
  expect(await query(alone.url, "SELECT start_value FROM pg_sequences WHERE sequencename = 'first_id_seq'")).toEqual([
    { start_value: "1" },
  ]);
});

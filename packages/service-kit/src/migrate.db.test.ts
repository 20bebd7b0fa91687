import { randomBytes } from "node:crypto";
import { createDatabase } from "@parley/testing";
import { Client } from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { migrate } from "./migrate.ts";

test("an index that one service builds concurrently is not held up by another service's migrations, which wait for their turn", async () => {
  const { url, drop } = await createDatabase();
  onTestFinished(drop);
  const options = (schema: string) => ({ url, schema, role: "postgres" });
  const underWay = Promise.withResolvers<void>();
  const building = migrate({
    ...options("first"),
    migrations: [
      {
        name: "0001",
        config: { transaction: false },
        async up(knex) {
          await knex.raw("CREATE TABLE first.things (id integer)");
          underWay.resolve();
          // The other one waits for us by now, however it waits.
          await expect
            .poll(async () => {
              const others = await knex.raw<{ rows: object[] }>(
                "SELECT FROM pg_stat_activity WHERE application_name = 'parley-migrate-second' AND query LIKE '%advisory_lock%'",
              );
              return others.rows.length;
            })
            .toBe(1);
          await knex.raw("CREATE INDEX CONCURRENTLY things_id ON first.things (id)");
        },
        down: async () => undefined,
      },
    ],
  });
  await underWay.promise;
  const waiting = migrate({ ...options("second"), migrations: [] });
  expect(await building).toEqual(["0001"]);
  expect(await waiting).toEqual([]);
});

test("databases of one server are migrated at once, though they share the role", async () => {
  const databases = await Promise.all(Array.from({ length: 8 }, () => createDatabase()));
  const role = `parley_test_${randomBytes(4).toString("hex")}`;
  onTestFinished(async () => {
    await Promise.all(databases.map(({ drop }) => drop()));
    await query(inject("postgresUrl"), `DROP ROLE IF EXISTS ${role}`);
  });
  const migrations = Array.from({ length: 10 }, () =>
    databases.map(({ url }) => migrate({ url, schema: "first", role, rolePassword: "the same", migrations: [] })),
  );
  expect(await Promise.all(migrations.flat())).toEqual(Array.from({ length: 80 }, () => []));
});

async function query(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

import { randomBytes } from "node:crypto";
import { createDatabase, queryRows as query } from "@parley/test-support";
import { expect, inject, onTestFinished, test } from "vitest";
import { migrate } from "./migrate.ts";

test("concurrent migrations of several databases on one server can use the same role", async () => {
  const databases = await Promise.all(Array.from({ length: 8 }, () => createDatabase()));
  const role = `parley_test_${randomBytes(4).toString("hex")}`;
  onTestFinished(async () => {
    await Promise.all(databases.map(({ drop }) => drop()));
    await query(inject("postgresUrl"), `DROP ROLE IF EXISTS ${role}`);
  });
  const migrations = Array.from({ length: 10 }, () =>
    databases.map(({ url }) => migrate({ url, schema: "first", role, rolePassword: "the same", migrations: [] })),
  );
  expect(await Promise.all(migrations.flat())).toEqual(Array.from({ length: 80 }, () => ({ applied: [] })));
});

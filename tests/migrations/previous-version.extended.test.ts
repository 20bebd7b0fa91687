import { type Migration, migrate, revertMigrations } from "@parley/service-kit/migrations";
import { createDatabase, type TestDatabase } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { runCliInChildProcess } from "../system/cli.ts";
import { migrateAsProcess, SERVICE_ROLE_PASSWORD, type ServiceWithDatabase } from "../system/processes.ts";
import { contractionMigration } from "./next-migrations.ts";
import { listMigrations } from "./next-version.ts";

// The current code plays the previous version: the tests apply invented migrations of a next version (next-migrations.ts), then run the
// current migrate commands on that schema.
let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase(undefined, { template: inject("migratedDatabase") });
});
afterAll(() => database.drop());

describe.each([
  ["conversation", "conversation"],
  ["quota", "quota"],
  ["llm-proxy", "llm"],
] as const)("the migrate command of %s, as the previous version", (service: ServiceWithDatabase, schema: string) => {
  const target = (migrations: readonly Migration[]) => ({
    url: database.url,
    schema,
    role: `parley_${schema}`,
    migrations,
  });
  const runServiceMigrations = () => migrateAsProcess(service, database.url, SERVICE_ROLE_PASSWORD);

  test("exits 0 on a newer schema that this version can use", async () => {
    const { currentMigrations, nextMigrations } = await listMigrations(database, schema);
    await migrate(target([...currentMigrations, ...nextMigrations]));
    const newerSchemaResult = (newest: string) => ({
      code: 0,
      stdout: `${schema}: schema (${newest}) is newer than this version; nothing to do\n`,
      stderr: "",
    });
    expect(await runServiceMigrations()).toEqual(newerSchemaResult("9001_next_things"));
    await migrate(
      target([...currentMigrations, ...nextMigrations, contractionMigration(schema, { oldestVersion: "0.1.0" })]),
    );
    expect(await runServiceMigrations()).toEqual(newerSchemaResult("9002_contraction"));
    const cli = await runCliInChildProcess(["migrate", service], { DATABASE_URL: database.url });
    expect([cli.code, cli.stdout]).toEqual([0, newerSchemaResult("9002_contraction").stdout.replace(schema, service)]);
    await revertMigrations(
      target([...currentMigrations, ...nextMigrations, contractionMigration(schema, { oldestVersion: "0.1.0" })]),
      1 + nextMigrations.length,
    );
    expect(await runServiceMigrations()).toEqual({ code: 0, stdout: `${schema}: up to date\n`, stderr: "" });
  });

  test("exits 78 on a schema that requires a newer version, until the schema is rolled back", async () => {
    const { currentMigrations, nextMigrations } = await listMigrations(database, schema);
    const contracted = target([
      ...currentMigrations,
      ...nextMigrations,
      contractionMigration(schema, { oldestVersion: "99.1.0" }),
    ]);
    await migrate(contracted);
    const { code, stdout, stderr } = await runServiceMigrations();
    expect([code, stdout]).toEqual([78, ""]);
    expect(stderr).toMatch(
      new RegExp(
        `^${schema}: cannot migrate: schema \\(9002_contraction\\) is newer than this version ` +
          `and needs version 99\\.1\\.0 or newer; this is \\d+\\.\\d+\\.\\d+\\n$`,
      ),
    );
    await revertMigrations(contracted, 1);
    expect((await runServiceMigrations()).code).toBe(0);
    await revertMigrations(target([...currentMigrations, ...nextMigrations]), nextMigrations.length);
  });
});

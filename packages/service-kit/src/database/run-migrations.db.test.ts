import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { createDatabase, nodeFlags, queryRows, startProcess } from "@parley/test-support";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));

test("runs with the roles of DATABASE_ROLE_PREFIX, and refuses the roles of another database and an invalid prefix", async () => {
  const [first, second] = [await createDatabase(), await createDatabase()];
  const prefix = `shop_${randomBytes(4).toString("hex")}_`;
  onTestFinished(async () => {
    await Promise.all([first.drop(), second.drop()]);
    const admin = new pg.Client({ connectionString: inject("postgresUrl") });
    await admin.connect();
    await admin.query(`DROP ROLE IF EXISTS ${prefix}quota`);
    await admin.end();
  });
  const run = async (url: string, rolePrefix: string) => {
    const { exited, stderr } = await startProcess({
      name: "migrate",
      command: process.execPath,
      args: [...nodeFlags, "services/quota/src/migrate.ts"],
      cwd: ROOT,
      env: { DATABASE_URL: url, DATABASE_PASSWORD: "password", DATABASE_ROLE_PREFIX: rolePrefix },
    });
    return { ...(await exited), stderr: stderr() };
  };
  expect(await run(first.url, prefix)).toMatchObject({ code: 0, stderr: "" });
  const refused = await run(second.url, prefix);
  expect(refused.code).toBe(78);
  expect(refused.stderr).toContain(`quota: cannot migrate: role ${prefix}quota belongs to database ${first.name}`);
  expect((await run(second.url, "Shop-")).stderr).toContain("DATABASE_ROLE_PREFIX must be");
});

test("two roles of a service, as in a password rotation, can use the schema, each with its own password and a lock timeout", async () => {
  const database = await createDatabase();
  // Random, because roles belong to the whole server, which other tests share.
  const suffixes = ["", "_2"].map((end) => `_${randomBytes(4).toString("hex")}${end}`);
  onTestFinished(async () => {
    await database.drop();
    const admin = new pg.Client({ connectionString: inject("postgresUrl") });
    await admin.connect();
    for (const suffix of suffixes) await admin.query(`DROP ROLE IF EXISTS parley_quota${suffix}`);
    await admin.end();
  });
  for (const suffix of suffixes) {
    const { exited, output } = await startProcess({
      name: "migrate",
      command: process.execPath,
      args: [...nodeFlags, "services/quota/src/migrate.ts"],
      cwd: ROOT,
      env: { DATABASE_URL: database.url, DATABASE_PASSWORD: `password${suffix}`, DATABASE_ROLE_SUFFIX: suffix },
    });
    expect(await exited, output()).toEqual({ code: 0, signal: null });
  }
  for (const suffix of suffixes) {
    const url = new URL(database.url);
    [url.username, url.password] = [`parley_quota${suffix}`, `password${suffix}`];
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("INSERT INTO quota.plans VALUES ($1, 1)", [suffix]);
    const { rows } = await client.query("SHOW lock_timeout");
    expect(rows).toEqual([{ lock_timeout: "2s" }]);
  }
});

test("with DATABASE_SHARD, numbers the database without a router, and marks the role as one of the sharded database", async () => {
  const database = await createDatabase();
  const prefix = `shop_${randomBytes(4).toString("hex")}_`;
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  onTestFinished(async () => {
    await admin.end();
    await database.drop();
    await queryRows(inject("postgresUrl"), `DROP ROLE IF EXISTS ${prefix}quota`);
  });
  const run = async (shard: string) => {
    const { exited, stderr } = await startProcess({
      name: "migrate",
      command: process.execPath,
      args: [...nodeFlags, "services/quota/src/migrate.ts"],
      cwd: ROOT,
      env: {
        DATABASE_URL: database.url,
        DATABASE_PASSWORD: "password",
        DATABASE_ROLE_PREFIX: prefix,
        DATABASE_SHARD: shard,
      },
    });
    return { ...(await exited), stderr: stderr() };
  };
  expect(await run("parley")).toMatchObject({
    code: 78,
    stderr: expect.stringContaining("DATABASE_SHARD must be like"),
  });
  expect(await run("parley_3")).toMatchObject({ code: 0, stderr: "" });
  const { rows } = await admin.query(
    `SELECT min(start_value)::text AS start, (SELECT shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = $1) AS mark
     FROM pg_sequences WHERE schemaname = 'quota' AND data_type = 'bigint'::regtype`,
    [`${prefix}quota`],
  );
  expect(rows).toEqual([
    { start: "300000000000001", mark: 'Parley {"database":"parley","installation":"","isSharded":true}' },
  ]);
});

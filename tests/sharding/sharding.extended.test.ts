import { randomUUID } from "node:crypto";
import { createDatabase, TABLES_WITHOUT_KEY, type TestDatabase } from "@parley/test-support";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { chat } from "../system/chat.ts";
import { queryFirstRow, readBalance } from "../system/database.ts";
import type {} from "../system/global-setup.ts";
import { createTenant, startSystem } from "../system/system.ts";
import { readCatalog, type Table } from "./catalog.ts";
import { partitionByWorkspace } from "./partitions.ts";

// Checks that the tables of a migrated database can be distributed over several databases by workspace.

const isDistributed = ({ name }: Table) => !TABLES_WITHOUT_KEY.includes(name);

let tables: Table[];
let distributed: Table[];
let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase(undefined, { template: inject("migratedDatabase") });
  tables = await readCatalog(database);
  distributed = tables.filter(isDistributed);
});
afterAll(() => database.drop());

test("workspace_id is NOT NULL in all tables but five", () => {
  expect(tables.length - distributed.length).toBe(TABLES_WITHOUT_KEY.length);
  for (const { name, notNull } of distributed) expect(notNull, name).toContain("workspace_id");
});

test("every unique key of a distributed table contains workspace_id, so that one server can enforce it", () => {
  for (const { name, unique } of distributed) {
    expect(unique.length, name).toBeGreaterThan(0);
    for (const columns of unique) expect(columns, name).toContain("workspace_id");
  }
});

test("every foreign key contains workspace_id or references a table that every server has", () => {
  const references = tables.flatMap(({ name, references }) => references.map((reference) => ({ name, ...reference })));
  expect(references.length).toBeGreaterThan(5);
  for (const { name, table, columns } of references) {
    if (TABLES_WITHOUT_KEY.includes(table)) continue;
    expect(TABLES_WITHOUT_KEY, `${name} → ${table}`).not.toContain(name);
    expect(columns, `${name} → ${table}`).toContainEqual(["workspace_id", "workspace_id"]);
  }
});

// Shows that the next test would detect a table that cannot be partitioned.
test("PostgreSQL refuses to partition a table whose key lacks workspace_id", async () => {
  const createTable =
    "CREATE TABLE quota.attempt (workspace_id text, id uuid PRIMARY KEY) PARTITION BY HASH (workspace_id)";
  await expect(queryFirstRow(database, createTable)).rejects.toMatchObject({
    message: expect.stringContaining("partitioning columns"),
  });
});

test("PostgreSQL can partition the distributed tables by workspace_id with all keys, references and indexes", async () => {
  await partitionByWorkspace(database, distributed, 4);
  const { partitioned } = await queryFirstRow<{ partitioned: number }>(
    database,
    "SELECT count(*)::integer AS partitioned FROM pg_class WHERE relkind = 'p'",
  );
  expect(partitioned).toBe(distributed.length);
  // readCatalog omits partitioned tables but returns their partitions. The names of partitions end with a digit.
  const catalog = await readCatalog(database);
  const unpartitioned = catalog.filter(({ name }) => !/_\d$/.test(name));
  expect(new Set(unpartitioned.map(({ name }) => name))).toEqual(new Set(TABLES_WITHOUT_KEY));
  for (const { name, unique, references } of distributed) {
    const partition = catalog.find((table) => table.name === `${name}_0`);
    expect(new Set(partition?.unique.map(String)), name).toEqual(new Set(unique.map(String)));
    expect(partition?.references, name).toHaveLength(references.length);
  }
});

/** Partitions the tables by workspace. Restores the services' privileges, which the new tables lack. */
async function partitionWithGrants(fresh: TestDatabase): Promise<void> {
  const { grants } = await queryFirstRow<{ grants: string }>(
    fresh,
    `SELECT string_agg(format('GRANT %s ON %I.%I TO %I', privilege_type, table_schema, table_name, grantee), ';') AS grants
     FROM information_schema.role_table_grants WHERE grantee LIKE 'parley\\_%' AND table_schema IN ('conversation', 'quota', 'llm')`,
  );
  await partitionByWorkspace(fresh, (await readCatalog(fresh)).filter(isDistributed), 4);
  await queryFirstRow(fresh, grants);
}

test("turns run and are counted on partitioned tables", async () => {
  const system = await startSystem({ prepareDatabase: partitionWithGrants });
  try {
    const tenant = await createTenant(system.admin);
    const session_id = randomUUID();
    for (const message of ["one", "two"])
      expect((await chat(system.url(), tenant, { session_id, message })).done).toMatchObject({ finish_reason: "stop" });
    await expect
      .poll(() => readBalance(system.database), { timeout: 10_000 })
      .toMatchObject({ done: 2, used: 2, ledger: 2, held: 0, outbox: 0 });
  } finally {
    await system.stop();
  }
});

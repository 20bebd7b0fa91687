import { randomUUID } from "node:crypto";
import { createDatabase, type TestDatabase } from "@parley/test-support";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { chat } from "../system/chat.ts";
import { queryFirstRow, readBalance } from "../system/database.ts";
import type {} from "../system/global-setup.ts";
import { createTenant, startSystem } from "../system/system.ts";
import { readCatalog, type Table } from "./catalog.ts";
import { type Distribution, readDistribution } from "./documented-distribution.ts";
import { partitionByWorkspace } from "./partitions.ts";

// Compares the SQL in docs/install/scaling.md (the "page") with the system catalog of a migrated database.

let tables: Table[];
let page: Distribution;
let database: TestDatabase;
beforeAll(async () => {
  page = await readDistribution();
  database = await createDatabase(undefined, { template: inject("migratedDatabase") });
  tables = await readCatalog(database);
});
afterAll(() => database.drop());

test("the page lists every table once, and each referenced table before the tables that reference it", () => {
  expect(page.all).toHaveLength(tables.length);
  expect(new Set(page.all)).toEqual(new Set(tables.map(({ name }) => name)));
  for (const { name, references } of tables)
    for (const { table } of references)
      expect(page.all.indexOf(table), `${name} → ${table}`).toBeLessThan(page.all.indexOf(name));
});

test("all tables but five are distributed by workspace_id, which is NOT NULL", () => {
  expect(page.reference).toEqual([
    "quota.plans",
    "conversation.edges",
    "conversation.task_leases",
    "conversation.closed_months",
    "quota.months",
  ]);
  for (const { table, column } of page.distributed) {
    expect(column, table).toBe("workspace_id");
    expect(tables.find(({ name }) => name === table)?.notNull, table).toContain("workspace_id");
  }
});

test("every unique key of a distributed table contains workspace_id, so that one server can enforce it", () => {
  const uniqueKeys = new Map(tables.map(({ name, unique }) => [name, unique]));
  for (const { table } of page.distributed) {
    const keys = uniqueKeys.get(table) ?? [];
    expect(keys.length, table).toBeGreaterThan(0);
    for (const columns of keys) expect(columns, table).toContain("workspace_id");
  }
});

test("every foreign key contains workspace_id or references a table that every server has", () => {
  const references = tables.flatMap(({ name, references }) => references.map((reference) => ({ name, ...reference })));
  expect(references.length).toBeGreaterThan(5);
  for (const { name, table, columns } of references) {
    if (page.reference.includes(table)) continue;
    expect(page.reference, `${name} → ${table}`).not.toContain(name);
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
  const names = new Set(page.distributed.map(({ table }) => table));
  const distributed = tables.filter(({ name }) => names.has(name));
  await partitionByWorkspace(database, distributed, 4);
  const { partitioned } = await queryFirstRow<{ partitioned: number }>(
    database,
    "SELECT count(*)::integer AS partitioned FROM pg_class WHERE relkind = 'p'",
  );
  expect(partitioned).toBe(distributed.length);
  // readCatalog omits partitioned tables but returns their partitions. The names of partitions end with a digit.
  const catalog = await readCatalog(database);
  const unpartitioned = catalog.filter(({ name }) => !/_\d$/.test(name));
  expect(new Set(unpartitioned.map(({ name }) => name))).toEqual(new Set(page.reference));
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
  const names = new Set(page.distributed.map(({ table }) => table));
  const distributed = (await readCatalog(fresh)).filter(({ name }) => names.has(name));
  await partitionByWorkspace(fresh, distributed, 4);
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

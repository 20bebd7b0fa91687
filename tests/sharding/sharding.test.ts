import { createDatabase, type TestDatabase } from "@parley/test-support";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { query } from "../system/database.ts";
import type {} from "../system/global-setup.ts";
import { readCatalog, type Table } from "./catalog.ts";
import { type Distribution, readDistribution } from "./page.ts";
import { partitionByWorkspace } from "./partitions.ts";

// What docs/install/scaling.md says of the schema, held against the catalog of a migrated database.

let tables: Table[];
let page: Distribution;
let database: TestDatabase;
beforeAll(async () => {
  page = await readDistribution();
  database = await createDatabase(undefined, { template: inject("migratedDatabase") });
  tables = await readCatalog(database);
});
afterAll(() => database.drop());

test("the page names every table once, and after those that it refers to", () => {
  expect(page.all).toHaveLength(tables.length);
  expect(new Set(page.all)).toEqual(new Set(tables.map(({ name }) => name)));
  for (const { name, references } of tables)
    for (const { table } of references)
      expect(page.all.indexOf(table), `${name} → ${table}`).toBeLessThan(page.all.indexOf(name));
});

test("every table but the two that belong to no workspace is spread by workspace_id, which no row is without", () => {
  expect(page.reference).toEqual(["quota.plans", "conversation.edges"]);
  for (const { table, column } of page.distributed) {
    expect(column, table).toBe("workspace_id");
    expect(tables.find(({ name }) => name === table)?.required, table).toContain("workspace_id");
  }
});

test("every key of a table that is spread carries its workspace, so that one server can tell that it is unique", () => {
  const spreadTables = page.distributed.map(({ table }) => tables.find(({ name }) => name === table));
  for (const table of spreadTables) {
    expect(table?.unique, table?.name).not.toEqual([]);
    for (const columns of table?.unique ?? []) expect(columns, table?.name).toContain("workspace_id");
  }
});

test("every reference stays within its workspace, or leads to a table that every server has", () => {
  const references = tables.flatMap(({ name, references }) => references.map((reference) => ({ name, ...reference })));
  expect(references.length).toBeGreaterThan(5);
  for (const { name, table, columns } of references) {
    if (page.reference.includes(table)) continue;
    expect(page.reference, `${name} → ${table}`).not.toContain(name);
    expect(columns, `${name} → ${table}`).toContainEqual(["workspace_id", "workspace_id"]);
  }
});

test("a key without the workspace is what PostgreSQL refuses to split, so that the next can fail", async () => {
  const attempt =
    "CREATE TABLE quota.attempt (workspace_id text, id uuid PRIMARY KEY) PARTITION BY HASH (workspace_id)";
  await expect(query(database, attempt)).rejects.toMatchObject({
    message: expect.stringContaining("partitioning columns"),
  });
});

test("PostgreSQL itself splits those tables by workspace, with every key, reference and index they have", async () => {
  const names = new Set(page.distributed.map(({ table }) => table));
  const split = tables.filter(({ name }) => names.has(name));
  await partitionByWorkspace(database, split, 4);
  const { partitioned } = await query<{ partitioned: number }>(
    database,
    "SELECT count(*)::integer AS partitioned FROM pg_class WHERE relkind = 'p'",
  );
  expect(partitioned).toBe(split.length);
  // What is left whole: the tables without a workspace. Of the split ones the keys and references are what they were.
  const left = await readCatalog(database);
  const whole = left.filter(({ name }) => !/_\d$/.test(name));
  expect(new Set(whole.map(({ name }) => name))).toEqual(new Set(page.reference));
  for (const { name, unique, references } of split) {
    const part = left.find((table) => table.name === `${name}_0`);
    expect(new Set(part?.unique.map(String)), name).toEqual(new Set(unique.map(String)));
    expect(part?.references, name).toHaveLength(references.length);
  }
});

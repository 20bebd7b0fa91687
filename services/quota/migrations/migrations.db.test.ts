import { randomUUID } from "node:crypto";
import { migrate, revertMigrations } from "@parley/service-kit/migrations";
import { afterAll, beforeAll, expect, test } from "vitest";
import { APPEND_ONLY_TABLES } from "../src/role.ts";
import {
  createQuotaDatabase,
  createWorkspace,
  type QuotaDatabase,
  ROLE,
  usageOf,
} from "../src/testing/quota-database.ts";
import { reserve } from "../src/usage/reservations.store.ts";
import { settle } from "../src/usage/settlements.store.ts";
import { migrations } from "./index.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

test("reverts every migration while the tables have rows, and applies it again", async () => {
  const workspace = await createWorkspace(quota, 10);
  const turn = randomUUID();
  await reserve(quota.database, workspace, turn);
  await settle(quota.database, [{ workspaceId: workspace, turnId: turn, outcome: "done", month: undefined }]);
  const target = { url: quota.adminUrl, schema: "quota", role: ROLE, appendOnlyTables: APPEND_ONLY_TABLES, migrations };
  expect(await revertMigrations(target, migrations.length)).toHaveLength(migrations.length);
  expect((await migrate(target)).applied).toHaveLength(migrations.length);
  const again = await createWorkspace(quota, 10);
  await reserve(quota.database, again, randomUUID());
  expect(await usageOf(quota, again)).toMatchObject({ heldCounter: 1 });
});

test("applies each migration once when three migrators run concurrently", async () => {
  const target = { url: quota.adminUrl, schema: "quota", role: ROLE, appendOnlyTables: APPEND_ONLY_TABLES, migrations };
  await revertMigrations(target, migrations.length);
  const results = await Promise.all([migrate(target), migrate(target), migrate(target)]);
  expect(results.flatMap(({ applied }) => applied)).toEqual(migrations.map((each) => each.name));
});

test("ignores a migration lock left behind by a killed migrator", async () => {
  await quota.admin.query("UPDATE quota.migrations_lock SET is_locked = 1");
  expect(
    await migrate({
      url: quota.adminUrl,
      schema: "quota",
      role: ROLE,
      appendOnlyTables: APPEND_ONLY_TABLES,
      migrations,
    }),
  ).toEqual({ applied: [] });
});

test("every run of the migrations revokes the service's right to change entries of the usage ledger and adjustments", async () => {
  await quota.admin.query(`GRANT UPDATE, DELETE, TRUNCATE ON quota.ledger, quota.adjustments TO ${ROLE}`);
  await migrate({ url: quota.adminUrl, schema: "quota", role: ROLE, appendOnlyTables: APPEND_ONLY_TABLES, migrations });
  const { rows } = await quota.admin.query(
    `SELECT table_name, string_agg(privilege_type, ' ' ORDER BY privilege_type) AS privileges
     FROM information_schema.role_table_grants WHERE grantee = $1 AND table_name IN ('ledger', 'adjustments', 'usage')
     GROUP BY table_name ORDER BY table_name`,
    [ROLE],
  );
  expect(rows).toEqual([
    { table_name: "adjustments", privileges: "INSERT SELECT" },
    { table_name: "ledger", privileges: "INSERT SELECT" },
    { table_name: "usage", privileges: "DELETE INSERT SELECT UPDATE" },
  ]);
  for (const forbidden of ["UPDATE quota.ledger SET month = month", "DELETE FROM quota.adjustments"])
    await expect(quota.database.query(forbidden)).rejects.toThrow("permission denied");
});

test("the service's role cannot read other schemas, and cannot create or drop tables", async () => {
  await quota.admin.query("CREATE SCHEMA IF NOT EXISTS other; CREATE TABLE IF NOT EXISTS other.secrets (id integer)");
  await expect(quota.database.query("SELECT * FROM other.secrets")).rejects.toThrow("permission denied");
  await expect(quota.database.query("DROP TABLE quota.ledger")).rejects.toThrow("must be owner");
  await expect(quota.database.query("CREATE TABLE quota.mine (id integer)")).rejects.toThrow("permission denied");
});

import { randomUUID } from "node:crypto";
import { migrate, rollback } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createQuotaDatabase,
  createWorkspace,
  type QuotaDatabase,
  ROLE,
  usageOf,
} from "../src/testing/quota-database.ts";
import { reserve, settle } from "../src/usage/reservations.store.ts";
import { migrations } from "./index.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

test("rolls every migration back with rows in its tables and applies it again", async () => {
  const workspace = await createWorkspace(quota, 10);
  const turn = randomUUID();
  await reserve(quota.database, workspace, turn);
  await settle(quota.database, [{ workspaceId: workspace, turnId: turn, outcome: "done", month: undefined }]);
  const target = { url: quota.adminUrl, schema: "quota", role: ROLE, migrations };
  expect(await rollback(target, migrations.length)).toHaveLength(migrations.length);
  expect((await migrate(target)).applied).toHaveLength(migrations.length);
  const again = await createWorkspace(quota, 10);
  await reserve(quota.database, again, randomUUID());
  expect(await usageOf(quota, again)).toMatchObject({ held: 1 });
});

test("applies each migration once when three migrators run concurrently", async () => {
  const target = { url: quota.adminUrl, schema: "quota", role: ROLE, migrations };
  await rollback(target, migrations.length);
  const results = await Promise.all([migrate(target), migrate(target), migrate(target)]);
  expect(results.flatMap(({ applied }) => applied)).toEqual(migrations.map((each) => each.name));
});

test("ignores a migration lock left behind by a killed migrator", async () => {
  await quota.admin.query("UPDATE quota.migrations_lock SET is_locked = 1");
  expect(await migrate({ url: quota.adminUrl, schema: "quota", role: ROLE, migrations })).toEqual({ applied: [] });
});

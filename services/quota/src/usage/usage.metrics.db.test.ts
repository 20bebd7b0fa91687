import { randomUUID } from "node:crypto";
import { createLogger, Registry, singleShard } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createQuotaDatabase, type QuotaDatabase } from "../testing/quota-database.ts";
import { insertWorkspace } from "../workspaces/workspaces.store.ts";
import { reserve } from "./reservations.store.ts";
import { settle } from "./settlements.store.ts";
import { registerUsageGauges } from "./usage.metrics.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
  await quota.admin.query("INSERT INTO quota.plans (plan, monthly_cap) VALUES ('ten', 10), ('none', 0)");
  await createUsedWorkspace("unused", "ten", 0, 0);
  await createUsedWorkspace("below", "ten", 7, 1);
  await createUsedWorkspace("near", "ten", 8, 0);
  await createUsedWorkspace("full", "ten", 10, 0);
  await insertWorkspace(quota.database, "switched-off", "Test", "none");
});
afterAll(() => quota.drop());

/** Creates a workspace with `used` counted messages and `held` held ones. */
async function createUsedWorkspace(workspaceId: string, plan: string, used: number, held: number): Promise<void> {
  await insertWorkspace(quota.database, workspaceId, "Test", plan);
  const turns = Array.from({ length: used + held }, () => randomUUID());
  for (const turnId of turns) await reserve(quota.database, workspaceId, turnId);
  const done = turns
    .slice(0, used)
    .map((turnId) => ({ workspaceId, turnId, outcome: "done", month: undefined }) as const);
  await settle(quota.database, done);
}

/** Scrapes until the usage is present, because a scrape waits only half a second for the database. */
async function scrape(registry: Registry): Promise<string> {
  await expect.poll(() => registry.metrics()).toContain("parley_quota_workspaces{");
  return registry.metrics();
}

test("sums usage by plan, and reports the used ratio of each workspace that has used at least 80 % of its cap", async () => {
  const registry = new Registry();
  registerUsageGauges(registry, singleShard(quota.database).shards, createLogger("test", "silent"));
  const metrics = await scrape(registry);
  const value = (name: string, labels: string) =>
    metrics
      .split("\n")
      .find((line) => line.startsWith(`${name}{${labels}}`))
      ?.split(" ")
      .at(-1);
  expect(value("parley_quota_workspaces", 'plan="ten"')).toBe("4");
  expect(value("parley_quota_cap_messages", 'plan="ten"')).toBe("40");
  expect(value("parley_quota_used_messages", 'plan="ten"')).toBe("25");
  expect(value("parley_quota_held_messages", 'plan="ten"')).toBe("1");
  expect(value("parley_quota_workspaces_near_cap", 'plan="ten"')).toBe("2");
  expect(value("parley_quota_workspaces_at_cap", 'plan="ten"')).toBe("1");
  // The plan `scale` has no workspace. The plan `none` has a cap of 0.
  expect(value("parley_quota_workspaces", 'plan="scale"')).toBe("0");
  expect(value("parley_quota_used_messages", 'plan="scale"')).toBe("0");
  expect(value("parley_quota_workspaces_at_cap", 'plan="none"')).toBe("0");
  const ratios = metrics.split("\n").filter((line) => line.startsWith("parley_quota_workspace_used_ratio{"));
  expect(ratios).toEqual([
    'parley_quota_workspace_used_ratio{workspace="full",plan="ten"} 1',
    'parley_quota_workspace_used_ratio{workspace="near",plan="ten"} 0.8',
  ]);
  const top = metrics.split("\n").filter((line) => line.startsWith("parley_quota_workspace_used_messages{"));
  expect(top).toEqual([
    'parley_quota_workspace_used_messages{workspace="full",plan="ten"} 10',
    'parley_quota_workspace_used_messages{workspace="near",plan="ten"} 8',
    'parley_quota_workspace_used_messages{workspace="below",plan="ten"} 7',
  ]);
});

test("reports the used ratio of at most 200 workspaces near their cap, and the used messages of the ten with most", async () => {
  await quota.admin.query(`
    INSERT INTO quota.workspaces (workspace_id, name, plan) SELECT 'many-' || n, 'Test', 'ten' FROM generate_series(1, 300) n;
    INSERT INTO quota.usage (workspace_id, month, used)
    SELECT 'many-' || n, date_trunc('month', now() AT TIME ZONE 'UTC')::date, 9 FROM generate_series(1, 300) n`);
  const registry = new Registry();
  registerUsageGauges(registry, singleShard(quota.database).shards, createLogger("test", "silent"));
  const metrics = await scrape(registry);
  expect(metrics.match(/^parley_quota_workspace_used_ratio\{/gm)).toHaveLength(200);
  expect(metrics.match(/^parley_quota_workspace_used_messages\{/gm)).toHaveLength(10);
  expect(metrics).toContain('parley_quota_workspace_used_messages{workspace="full",plan="ten"} 10');
  expect(metrics).toContain('parley_quota_workspaces_near_cap{plan="ten"} 302');
});

test("reports no usage series and does not fail the scrape while the database is unavailable", async () => {
  const registry = new Registry();
  const unavailable = { query: () => Promise.reject(new Error("unavailable")) } as unknown as QuotaDatabase["database"];
  registerUsageGauges(registry, singleShard(unavailable).shards, createLogger("test", "silent"));
  expect(await registry.metrics()).not.toMatch(/^parley_quota_\w+\{/m);
});

import { randomUUID } from "node:crypto";
import { createLogger, Registry } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestBooks, type TestBooks } from "../testing/quota-database.ts";
import { insertWorkspace } from "../workspaces/workspaces.store.ts";
import { reserve, settle } from "./reservations.store.ts";
import { usageGauges } from "./usage.metrics.ts";

let books: TestBooks;
beforeAll(async () => {
  books = await createTestBooks();
  await books.admin.query("INSERT INTO quota.plans (plan, monthly_cap) VALUES ('ten', 10), ('none', 0)");
  await spend("free-of-use", "ten", 0, 0);
  await spend("below", "ten", 7, 1);
  await spend("near", "ten", 8, 0);
  await spend("full", "ten", 10, 0);
  await insertWorkspace(books.database, "switched-off", "Test", "none");
});
afterAll(() => books.drop());

/** A workspace with messages counted and messages held. */
async function spend(workspaceId: string, plan: string, used: number, held: number): Promise<void> {
  await insertWorkspace(books.database, workspaceId, "Test", plan);
  const turns = Array.from({ length: used + held }, () => randomUUID());
  for (const turnId of turns) await reserve(books.database, workspaceId, turnId);
  const done = turns
    .slice(0, used)
    .map((turnId) => ({ workspaceId, turnId, outcome: "done", month: undefined }) as const);
  await settle(books.database, done);
}

const scrape = (registry: Registry) => registry.metrics();

test("plans are summed up, and workspaces are named from 80 % of their cap on", async () => {
  const registry = new Registry();
  usageGauges(registry, books.database, createLogger("test", "silent"));
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
  // A plan that nobody has, and one of nothing.
  expect(value("parley_quota_workspaces", 'plan="scale"')).toBe("0");
  expect(value("parley_quota_used_messages", 'plan="scale"')).toBe("0");
  expect(value("parley_quota_workspaces_at_cap", 'plan="none"')).toBe("0");
  const named = metrics.split("\n").filter((line) => line.startsWith("parley_quota_workspace_used_ratio{"));
  expect(named).toEqual([
    'parley_quota_workspace_used_ratio{workspace="full",plan="ten"} 1',
    'parley_quota_workspace_used_ratio{workspace="near",plan="ten"} 0.8',
  ]);
});

test("of workspaces near their cap the first two hundred are named, however many there are", async () => {
  await books.admin.query(`
    INSERT INTO quota.workspaces (workspace_id, name, plan) SELECT 'many-' || n, 'Test', 'ten' FROM generate_series(1, 300) n;
    INSERT INTO quota.usage (workspace_id, month, used)
    SELECT 'many-' || n, date_trunc('month', now() AT TIME ZONE 'UTC')::date, 9 FROM generate_series(1, 300) n`);
  const registry = new Registry();
  usageGauges(registry, books.database, createLogger("test", "silent"));
  const metrics = await scrape(registry);
  expect(metrics.match(/^parley_quota_workspace_used_ratio\{/gm)).toHaveLength(200);
  expect(metrics).toContain('parley_quota_workspaces_near_cap{plan="ten"} 302');
});

test("while the database is away there is nothing to see, and what else is scraped is there", async () => {
  const registry = new Registry();
  const gone = { query: () => Promise.reject(new Error("away")) } as unknown as TestBooks["database"];
  usageGauges(registry, gone, createLogger("test", "silent"));
  expect(await scrape(registry)).not.toMatch(/^parley_quota_\w+\{/m);
});

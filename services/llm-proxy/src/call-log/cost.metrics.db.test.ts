import { createLogger, Registry, singleShard } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestProxy, type TestProxy } from "../testing/llm-proxy.ts";
import { registerCostGauge } from "./cost.metrics.ts";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy({ config: "{}" });
});
afterAll(() => proxy.drop());

async function addCall(workspaceId: string, cost: number | null, age: string): Promise<void> {
  await proxy.database.query(
    `INSERT INTO llm.calls
     SELECT $1, gen_random_uuid(), gen_random_uuid(), 'p', 'p:m', '', 1, 1, false, 0, 0, 0, 1, 0, 'complete', '', $2, now() - $3::interval`,
    [workspaceId, cost, age],
  );
}

/** Scrapes new gauges, because a gauge caches its measurement, until a series is present: a scrape waits only half a second for the database. */
async function scrape(): Promise<string[]> {
  const registry = new Registry();
  registerCostGauge(registry, singleShard(proxy.database).shards, createLogger("test", "silent"));
  await expect.poll(() => registry.metrics()).toContain("parley_llm_workspace_day_cost{");
  return (await registry.metrics()).split("\n").filter((line) => line.startsWith("parley_llm_workspace_day_cost{"));
}

test("reports the cost of the last 24 hours of at most ten workspaces, the highest, and none without cost", async () => {
  await addCall("dear", 2.5, "1 hour");
  await addCall("dear", 1, "23 hours");
  await addCall("dear", 100, "25 hours");
  await addCall("dear", null, "1 hour");
  await addCall("cheap", 0.5, "1 hour");
  await addCall("unpriced", null, "1 hour");
  await addCall("free", 0, "1 hour");
  await addCall("past", 7, "2 days");
  expect((await scrape()).sort()).toEqual([
    'parley_llm_workspace_day_cost{workspace="cheap"} 0.5',
    'parley_llm_workspace_day_cost{workspace="dear"} 3.5',
  ]);
  for (let index = 0; index < 12; index++) await addCall(`many-${index}`, 1 + index / 100, "1 hour");
  const lines = await scrape();
  expect(lines).toHaveLength(10);
  expect(lines).toContain('parley_llm_workspace_day_cost{workspace="dear"} 3.5');
  expect(lines.join()).not.toMatch(/"(cheap|many-0|many-1|many-2)"/);
});

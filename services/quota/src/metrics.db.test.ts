import { randomUUID } from "node:crypto";
import { createLogger, Registry, singleShard } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { registerHoldGauges } from "./metrics.ts";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase } from "./testing/quota-database.ts";
import { reserve } from "./usage/reservations.store.ts";
import { settle } from "./usage/settlements.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

const silent = createLogger("test", "silent");

async function scrapeHoldGauges(registry: Registry) {
  const value = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
  return { count: await value("parley_holds"), oldest: await value("parley_holds_oldest_seconds") };
}

/** Repeats the scrape while it reports NaN, which means that it waited too long for the database. */
async function readHoldGauges() {
  // Each read registers new gauges, because gauges cache their measurement for 5 s.
  const registry = new Registry();
  registerHoldGauges(registry, singleShard(quota.database).shards, silent);
  let gauges = await scrapeHoldGauges(registry);
  for (let attempt = 1; attempt < 20 && Object.values(gauges).some(Number.isNaN); attempt++)
    gauges = await scrapeHoldGauges(registry);
  return gauges;
}

test("the gauges report the number of holds and the age of the oldest one until it is settled", async () => {
  expect(await readHoldGauges()).toEqual({ count: 0, oldest: 0 });

  const workspace = await createWorkspace(quota, 10);
  const [olderTurn, newerTurn] = [randomUUID(), randomUUID()];
  for (const turn of [olderTurn, newerTurn]) await reserve(quota.database, workspace, turn);
  await quota.admin.query("UPDATE quota.reservations SET reserved_at = now() - interval '2 hours' WHERE turn_id = $1", [
    olderTurn,
  ]);
  const { count, oldest = 0 } = await readHoldGauges();
  expect(count).toBe(2);
  expect(oldest).toBeGreaterThan(7_199);
  expect(oldest).toBeLessThan(7_300);

  const voidSettlement = (turnId: string) => ({
    workspaceId: workspace,
    turnId,
    outcome: "void" as const,
    month: undefined,
  });
  await settle(quota.database, [voidSettlement(olderTurn)]);
  expect((await readHoldGauges()).oldest).toBeLessThan(100);
  await settle(quota.database, [voidSettlement(newerTurn)]);
  expect(await readHoldGauges()).toEqual({ count: 0, oldest: 0 });
});

test("the gauges are NaN while the database is unavailable, and the scrape does not fail", async () => {
  const registry = new Registry();
  const removed = await createQuotaDatabase();
  registerHoldGauges(registry, singleShard(removed.database).shards, silent);
  await removed.drop();
  expect(await scrapeHoldGauges(registry)).toEqual({ count: Number.NaN, oldest: Number.NaN });
});

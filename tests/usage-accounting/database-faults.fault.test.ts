import { setTimeout as sleep } from "node:timers/promises";
import { isFullRun, startTestPostgres, type TestPostgres } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readBalance, waitUntilSettled } from "../system/database.ts";
import {
  type DatabaseProxies,
  killDatabase,
  makeConnectionsReadOnly,
  makeReadOnly,
  portsOf,
  stallDatabase,
  startDatabaseProxies,
} from "../system/faults/database-faults.ts";
import { createSystemDatabase, createTenant, type System, startSystem } from "../system/system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, type VisitResult, visit } from "../system/visitors.ts";

const VISITORS = 8;
const RECOVERY_SECONDS = 30;
const LEASE_SECONDS = 5;

let postgres: TestPostgres;
let proxies: DatabaseProxies;
let system: System;
beforeAll(async () => {
  postgres = await startTestPostgres();
  const database = await createSystemDatabase(postgres.url);
  proxies = await startDatabaseProxies(database.url);
  system = await startSystem({
    database,
    databasePorts: portsOf(proxies),
    env: {
      edge: TRUST_FORWARDED_FOR,
      conversation: { LOG_LEVEL: "silent", EDGE_LEASE_SECONDS: String(LEASE_SECONDS) },
      quota: { LOG_LEVEL: "silent" },
      "llm-proxy": { LOG_LEVEL: "silent" },
    },
  });
}, 120_000);
afterAll(async () => {
  await system?.stop();
  for (const proxy of Object.values(proxies ?? {})) await proxy.close();
  await postgres?.stop();
});

/**
 * Injects a fault while visitors chat. Expects that visitors get whole replies again within RECOVERY_SECONDS of the fault's end, and that usage
 * reconciles.
 */
async function expectRecovery(fault: () => Promise<unknown>): Promise<void> {
  const tenant = await createTenant(system.admin);
  const visits: VisitResult[] = [];
  let isChatOver: boolean = false;
  const chat = async () => {
    while (!isChatOver) {
      const result = await visit(system.url(), tenant);
      visits.push(result);
      if (result.kind !== "stream") await sleep(50);
    }
  };
  const visitors = Array.from({ length: VISITORS }, chat);
  await expect.poll(() => countOutcomes(visits).stop ?? 0, { timeout: 10_000 }).toBeGreaterThan(VISITORS);
  await fault();
  const endedAt = performance.now();
  const repliesAtEnd = countOutcomes(visits).stop ?? 0;
  // At the fault's end, each visitor had at most one unfinished reply. So if more than VISITORS replies complete afterwards, at least one of
  // them began after the fault.
  await expect
    .poll(() => (countOutcomes(visits).stop ?? 0) - repliesAtEnd, { timeout: RECOVERY_SECONDS * 1_000 })
    .toBeGreaterThan(VISITORS);
  console.info(`recovered ${((performance.now() - endedAt) / 1_000).toFixed(1)} s after the fault's end`);
  isChatOver = true;
  await Promise.all(visitors);
  await waitUntilSettled(system.database, 120_000);
  const balance = await readBalance(system.database);
  expect(balance).toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
  const outcomes = countOutcomes(visits);
  expect(outcomes.stop ?? 0).toBeLessThanOrEqual((await readBalance(system.database, tenant.workspaceId)).done);
  // `undefined` counts streams without a finish reason.
  expect(outcomes.undefined).toBeUndefined();
}

test("visitors get whole replies again within 30 s after all connections to the database were silently dropped, and usage reconciles", async () => {
  await expectRecovery(async () => {
    for (const proxy of Object.values(proxies)) proxy.stallOpenConnections();
  });
}, 300_000);

test("visitors get whole replies again within 30 s after the database was read-only for 5 s, and usage reconciles", async () => {
  await expectRecovery(() => makeReadOnly(system.database, 5_000));
}, 300_000);

test("visitors get whole replies again within 30 s after all connections reopened as read-only, as in a failover, and usage reconciles", async () => {
  await expectRecovery(() => makeConnectionsReadOnly(system.database, Object.values(proxies)));
}, 300_000);

test.runIf(isFullRun)(
  "visitors get whole replies again within 30 s after the database stalled for 60 s, and usage reconciles",
  async () => {
    await expectRecovery(() => stallDatabase(Object.values(proxies), 60_000));
  },
  400_000,
);

test.runIf(isFullRun)(
  "visitors get whole replies again within 30 s after PostgreSQL was killed and down for 20 s, and usage reconciles",
  async () => {
    await expectRecovery(() => killDatabase(postgres, 20_000));
  },
  400_000,
);

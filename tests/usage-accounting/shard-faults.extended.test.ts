import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cliEnv, runCliInProcess } from "../system/cli.ts";
import { waitUntilSettled } from "../system/database.ts";
import { makeReadOnly } from "../system/faults/database-faults.ts";
import type { TestShards } from "../system/shards.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, type VisitResult, visit } from "../system/visitors.ts";

const SHARDS = 4;
const FAULT_MS = 4_000;
const RECOVERY_MS = 30_000;

let system: System;
let shards: TestShards;
/** One tenant for each shard. */
let tenants: Tenant[];
beforeAll(async () => {
  const quiet = { LOG_LEVEL: "silent" };
  system = await startSystem({
    shards: SHARDS,
    env: {
      edge: TRUST_FORWARDED_FOR,
      // The repair at the end compares turns that were closed at least a second ago.
      conversation: { ...quiet, EDGE_LEASE_SECONDS: "5", RECONCILE_MIN_AGE_SECONDS: "1" },
      quota: quiet,
      "llm-proxy": quiet,
    },
  });
  shards = system.shards as TestShards;
  const found = new Map<number, Tenant>();
  while (found.size < SHARDS) {
    const tenant = await createTenant(system.admin);
    found.set(shards.router.shardOf(tenant.workspaceId), tenant);
  }
  tenants = Array.from({ length: SHARDS }, (_, shard) => found.get(shard) as Tenant);
});
afterAll(() => system?.stop());

/** Injects a fault into the server of the shards 1 and 3 while visitors chat, and expects 0 differences afterwards. */
async function expectNoDifferences(fault: (isServedByOthers: () => Promise<unknown>) => Promise<void>): Promise<void> {
  const visits: VisitResult[][] = tenants.map(() => []);
  const countReplies = (shard: number) => countOutcomes(visits[shard] ?? []).stop ?? 0;
  let isOver: boolean = false;
  const chat = async (tenant: Tenant, shard: number) => {
    while (!isOver) {
      const result = await visit(system.url(), tenant);
      visits[shard]?.push(result);
      if (result.kind !== "stream") await sleep(50);
    }
  };
  const visitors = tenants.flatMap((tenant, shard) => [chat(tenant, shard), chat(tenant, shard)]);
  const waitForReplies = async (timeout: number, ...numbers: number[]) => {
    const before = numbers.map(countReplies);
    const added = () => Math.min(...numbers.map((shard, index) => countReplies(shard) - (before[index] ?? 0)));
    await expect.poll(added, { timeout }).toBeGreaterThan(5);
  };
  await waitForReplies(RECOVERY_MS, 0, 1, 2, 3);
  await fault(() => waitForReplies(RECOVERY_MS, 0, 2));
  const endedAt = performance.now();
  await waitForReplies(RECOVERY_MS, 1, 3);
  const recoveryMs = performance.now() - endedAt;
  isOver = true;
  await Promise.all(visitors);

  const balance = await waitUntilSettled(system.database, 60_000);
  expect(balance).toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
  const outcomes = countOutcomes(visits.flat());
  expect(outcomes.stop).toBeLessThanOrEqual(balance.done);
  // `undefined` counts streams without a finish reason.
  expect(outcomes.undefined).toBeUndefined();
  expect((await runCliInProcess(["usage-audit", "--check"], cliEnv(system))).code).toBe(0);
  const { stdout } = await runCliInProcess(["usage-audit", "--repair"], cliEnv(system));
  console.info(
    `replies by shard: ${tenants.map((_, shard) => countReplies(shard)).join(", ")}; outcomes: ${JSON.stringify(outcomes)}; recovered in ${Math.round(recoveryMs)} ms; ${stdout}`,
  );
  expect(stdout).toMatch(/^0 differences repaired among [1-9]\d* turns and holds\.\n$/);
}

test("after the server of two of four shards was killed and restarted under load, turns and usage have 0 differences", async () => {
  await expectNoDifferences(async (isServedByOthers) => {
    await shards.secondServer.kill9();
    await isServedByOthers();
    await shards.secondServer.restart();
  });
}, 150_000);

test("after the server of two of four shards was read-only under load, turns and usage have 0 differences", async () => {
  await expectNoDifferences(async (isServedByOthers) => {
    await Promise.all([makeReadOnly(shards.secondServer, FAULT_MS), isServedByOthers()]);
  });
}, 150_000);

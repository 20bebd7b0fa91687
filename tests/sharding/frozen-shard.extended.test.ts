import { afterAll, beforeAll, expect, test } from "vitest";
import { queryFirstRow } from "../system/database.ts";
import { holdLocks } from "../system/hold-locks.ts";
import { readMetric } from "../system/metrics.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, type VisitResult, visit } from "../system/visitors.ts";

const FROZEN = 0;
const FROZEN_CALLS = 200;
/** The longest wait for a place in which turns start, OpenTurn's deadline, and a margin for a busy machine. */
const MAX_WAIT_MS = 10_000 + 10_000 + 5_000;
/** While they are locked, every statement of Parley on the shard waits. */
const LOCK_ALL_TABLES = `DO $$ BEGIN
  EXECUTE (SELECT 'LOCK TABLE ' || string_agg(format('%I.%I', schemaname, tablename), ', ') || ' IN ACCESS EXCLUSIVE MODE'
           FROM pg_tables WHERE schemaname IN ('conversation', 'quota', 'llm'));
END $$`;

let system: System;
/** The tenants of shard 0 and of shard 1. */
const tenants: [Tenant[], Tenant[]] = [[], []];
beforeAll(async () => {
  system = await startSystem({ shards: 2, env: { edge: TRUST_FORWARDED_FOR } });
  while (tenants.some((each) => each.length < 4)) {
    const tenant = await createTenant(system.admin);
    tenants[system.shards?.router.shardOf(tenant.workspaceId) as 0 | 1].push(tenant);
  }
});
afterAll(() => system?.stop());

const percentile99 = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)];

/** Sends messages to the tenants of the other shard, one after another, until `isOver`. Returns how long each took. */
async function chatOnOtherShard(isOver: () => boolean): Promise<{ visits: VisitResult[]; durationsMs: number[] }> {
  const visits: VisitResult[] = [];
  const durationsMs: number[] = [];
  while (!isOver()) {
    const [tenant] = tenants[1].splice(0, 1);
    if (tenant === undefined) throw new Error("no tenant");
    tenants[1].push(tenant);
    const startedAt = performance.now();
    visits.push(await visit(system.url(), tenant));
    durationsMs.push(performance.now() - startedAt);
  }
  return { visits, durationsMs };
}

test("while a shard does not respond, its visitors get 503 at the latest at their deadline, the visitors of the other shard get their replies, and it recovers without a restart", async () => {
  for (const tenant of tenants.flat())
    expect(await visit(system.url(), tenant)).toMatchObject({ finishReason: "stop" });
  const [database] = system.shards?.shards ?? [];
  if (database === undefined) throw new Error(`no shard ${FROZEN}`);
  const unfreeze = await holdLocks(database, LOCK_ALL_TABLES);
  const startedAt = performance.now();
  let lastMs = 0;
  let ended = 0;
  const frozen = Array.from({ length: FROZEN_CALLS }, async (_, n) => {
    const result = await visit(system.url(), tenants[0][n % tenants[0].length] as Tenant);
    ended++;
    lastMs = performance.now() - startedAt;
    return result;
  });
  const { visits, durationsMs } = await chatOnOtherShard(() => ended === FROZEN_CALLS);
  const outcomes = countOutcomes(await Promise.all(frozen));
  console.info(
    `frozen shard: ${JSON.stringify(outcomes)}, the last after ${Math.round(lastMs)} ms; other shard: ${JSON.stringify(countOutcomes(visits))}, p99 ${Math.round(percentile99(durationsMs) ?? 0)} ms`,
  );
  expect(outcomes).toEqual({ 503: FROZEN_CALLS });
  expect(lastMs).toBeLessThan(MAX_WAIT_MS);
  expect(countOutcomes(visits)).toEqual({ stop: visits.length });
  expect(visits.length).toBeGreaterThan(10);
  // A call that waits for a connection of the frozen shard would take 10 s.
  expect(Math.max(...durationsMs)).toBeLessThan(5_000);
  const refused = (code: string) =>
    readMetric(system.edges[0] ?? { opsPort: 0 }, "parley_requests_refused_total", { code });
  // `unavailable`: OpenTurn passed its deadline. `overloaded`: the visitor waited for a place among the starting turns.
  expect((await refused("unavailable")) + (await refused("overloaded"))).toBe(FROZEN_CALLS);

  await unfreeze();
  for (const tenant of tenants[0])
    await expect.poll(() => visit(system.url(), tenant), { timeout: 20_000 }).toMatchObject({ finishReason: "stop" });
  const open = "SELECT count(*)::integer AS streaming FROM conversation.turns WHERE status = 'streaming'";
  await expect.poll(() => queryFirstRow(database, open), { timeout: 30_000 }).toEqual({ streaming: 0 });
}, 120_000);

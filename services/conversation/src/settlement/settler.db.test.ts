import { setImmediate as nextIteration, setTimeout as sleep } from "node:timers/promises";
import { pause, Registry } from "@parley/service-kit";
import { expect, test } from "vitest";
import { useTestSettlement } from "../testing/settlement.ts";
import { measureOutbox } from "./outbox.store.ts";

const system = useTestSettlement();
const { newSettler, runTurns, readOutboxDepth } = system;

test("the settler settles pushed turns immediately, in batches of at most 500, and deletes them from the outbox", async () => {
  const settler = newSettler();
  const closed = await runTurns(600);
  for (const each of closed) settler.push([each]);
  // The settler was not started, so it does not poll the outbox.
  await expect.poll(readOutboxDepth, { interval: 20 }).toBe(0);
  expect(system.quota.countDone(system.bot.workspaceId)).toBe(600);
  expect(system.quota.settleCalls.map((call) => call.length)).toEqual([500, 100]);
});

test("the settler settles the first turn immediately, and one call settles all turns that are pushed in the next batch window", async () => {
  const window = Promise.withResolvers<void>();
  const settler = newSettler({ waitForMoreTurns: () => window.promise });
  const closed = await runTurns(101);
  settler.push(closed.slice(0, 1));
  await expect.poll(readOutboxDepth, { interval: 5 }).toBe(100);
  for (const each of closed.slice(1)) {
    settler.push([each]);
    await nextIteration();
  }
  expect(system.quota.settleCalls.map((call) => call.length)).toEqual([1]);
  window.resolve();
  await expect.poll(readOutboxDepth, { interval: 5 }).toBe(0);
  expect(system.quota.settleCalls.map((call) => call.length)).toEqual([1, 100]);
});

test("the settler makes at most one call every 50 ms under a steady load", async () => {
  const settler = newSettler();
  const closed = await runTurns(100);
  const started = performance.now();
  for (let n = 0; n < closed.length; n += 5) {
    settler.push(closed.slice(n, n + 5));
    await sleep(10);
  }
  await expect.poll(readOutboxDepth, { interval: 5 }).toBe(0);
  const windows = Math.ceil((performance.now() - started) / 50);
  expect(system.quota.countDone(system.bot.workspaceId)).toBe(100);
  expect(system.quota.settleCalls.length).toBeLessThanOrEqual(1 + windows);
});

test("the settler settles its queue without a pause when it stops", async () => {
  const settler = newSettler({ waitForMoreTurns: (signal) => pause(60_000, signal) });
  const closed = await runTurns(30);
  settler.push(closed.slice(0, 10));
  await expect.poll(readOutboxDepth, { interval: 5 }).toBe(20);
  settler.push(closed.slice(10));
  await settler.stop();
  expect(await readOutboxDepth()).toBe(0);
  expect(system.quota.countDone(system.bot.workspaceId)).toBe(30);
});

test("the settler settles the turns that a dead process left in the outbox", async () => {
  await runTurns(1_200);
  await system.db.admin.query("UPDATE conversation.outbox SET created_at = created_at - interval '1 minute'");
  newSettler().start();
  await expect.poll(readOutboxDepth, { timeout: 20_000, interval: 20 }).toBe(0);
  expect(system.quota.countDone(system.bot.workspaceId)).toBe(1_200);
});

test("the settler keeps turns in the outbox while the quota service is down, and settles them when it is up again", async () => {
  const settler = newSettler();
  settler.start();
  system.quota.isUnavailable = true;
  settler.push(await runTurns(20));
  // The settler polls the outbox for turns that are at least 2 s old.
  await expect
    .poll(async () => (await measureOutbox(system.db.database)).oldestSeconds, { timeout: 20_000 })
    .toBeGreaterThan(2.5);
  expect(await readOutboxDepth()).toBe(20);
  system.quota.isUnavailable = false;
  await expect.poll(readOutboxDepth, { timeout: 20_000, interval: 50 }).toBe(0);
  expect(system.quota.countDone(system.bot.workspaceId)).toBe(20);
});

test("turns of another shard stay in the outbox and do not keep the later ones from being settled", async () => {
  const misrouted = await runTurns(500);
  for (const { turnId } of misrouted) system.quota.misrouted.add(turnId);
  await system.db.admin.query("UPDATE conversation.outbox SET created_at = now() - interval '2 minutes'");
  await runTurns(1);
  newSettler().start();
  await expect.poll(readOutboxDepth, { timeout: 20_000, interval: 20 }).toBe(500);
  expect(system.quota.countDone(system.bot.workspaceId)).toBe(1);
});

test("two settlers that run concurrently settle every turn of the outbox", async () => {
  await runTurns(1_000);
  await system.db.admin.query("UPDATE conversation.outbox SET created_at = now() - interval '1 minute'");
  for (const settler of [newSettler(), newSettler()]) settler.start();
  await expect.poll(readOutboxDepth, { timeout: 20_000, interval: 20 }).toBe(0);
  expect(system.quota.countDone(system.bot.workspaceId)).toBe(1_000);
});

test("the settler reports the outbox depth, the age of its oldest turn and the settle lag", async () => {
  const registry = new Registry();
  const settler = newSettler({ registry });
  const closed = await runTurns(3);
  await system.db.admin.query("UPDATE conversation.outbox SET created_at = now() - interval '90 seconds'");
  // A scrape that waits too long for the database reports NaN.
  await expect.poll(() => registry.metrics()).toContain("parley_outbox_depth 3");
  const oldestSeconds = async () => Number(/^parley_outbox_oldest_seconds (\S+)/m.exec(await registry.metrics())?.[1]);
  await expect.poll(oldestSeconds).toBeGreaterThanOrEqual(90);
  settler.push(closed);
  await settler.stop();
  expect(await registry.metrics()).toContain("parley_settle_lag_seconds_count 3");
  await expect.poll(() => registry.metrics()).toContain("parley_outbox_depth 0");
});

import { setImmediate as nextIteration, setTimeout as sleep } from "node:timers/promises";
import { QuotaService } from "@parley/rpc/quota";
import { connectPeer, createLogger, type Database, fixedTokens, Lifecycle, pause, Registry } from "@parley/service-kit";
import type { Statement } from "@parley/service-kit/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { startTestQuota, type TestQuota } from "../testing/quota.ts";
import { createBot, newClosing, newTurn } from "../testing/turns.ts";
import { closeTurn } from "../turns/close-turn.store.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import { measureOutbox } from "./outbox.store.ts";
import { Settler } from "./settler.worker.ts";

const log = createLogger("test", "silent");
let db: TestDatabase;
let quota: TestQuota;
let bot: Bot;
let lifecycle: Lifecycle;

beforeEach(async () => {
  db = await createTestDatabase();
  quota = await startTestQuota();
  bot = await createBot(db.database);
  lifecycle = new Lifecycle(log);
  lifecycle.onClose("database", () => db.drop());
  lifecycle.onClose("quota", () => quota.close());
});
afterEach(() => lifecycle.close());

type Options = { database?: Database; registry?: Registry; waitForMore?: (signal: AbortSignal) => Promise<unknown> };

function newSettler({ database = db.database, registry = new Registry(), waitForMore }: Options = {}) {
  const client = connectPeer(QuotaService, { target: quota.target, internalTokens: fixedTokens("t") }, lifecycle);
  const settler = new Settler(database, client, registry, log, waitForMore);
  lifecycle.onClose("settler", () => settler.stop());
  return settler;
}

async function closeTurns(count: number) {
  const turns = Array.from({ length: count }, () => newTurn(bot));
  await Promise.all(turns.map((turn) => openTurn(db.database, turn)));
  return (await Promise.all(turns.map((turn) => closeTurn(db.database, newClosing(turn))))).filter(
    (closed) => closed !== undefined,
  );
}

const depth = async () => (await measureOutbox(db.database)).depth;

test("the settler settles pushed turns at once, in batches, and deletes them from the outbox", async () => {
  const settler = newSettler();
  const closed = await closeTurns(600);
  for (const each of closed) settler.push([each]);
  // The settler was not started, so it does not poll the outbox.
  await expect.poll(depth, { interval: 20 }).toBe(0);
  expect(quota.countDone(bot.workspaceId)).toBe(600);
  expect(quota.calls.map((call) => call.length)).toEqual([500, 100]);
});

test("the settler settles the first turn at once, and turns that close within the batch window in one call", async () => {
  const window = Promise.withResolvers<void>();
  const settler = newSettler({ waitForMore: () => window.promise });
  const closed = await closeTurns(101);
  settler.push(closed.slice(0, 1));
  await expect.poll(depth, { interval: 5 }).toBe(100);
  for (const each of closed.slice(1)) {
    settler.push([each]);
    await nextIteration();
  }
  expect(quota.calls.map((call) => call.length)).toEqual([1]);
  window.resolve();
  await expect.poll(depth, { interval: 5 }).toBe(0);
  expect(quota.calls.map((call) => call.length)).toEqual([1, 100]);
});

test("the settler makes at most one call every 50 ms under a steady load", async () => {
  const settler = newSettler();
  const closed = await closeTurns(100);
  const started = performance.now();
  for (let n = 0; n < closed.length; n += 5) {
    settler.push(closed.slice(n, n + 5));
    await sleep(10);
  }
  await expect.poll(depth, { interval: 5 }).toBe(0);
  const windows = Math.ceil((performance.now() - started) / 50);
  expect(quota.countDone(bot.workspaceId)).toBe(100);
  expect(quota.calls.length).toBeLessThanOrEqual(1 + windows);
});

test("the settler settles its queue without a pause when it stops", async () => {
  const settler = newSettler({ waitForMore: (signal) => pause(60_000, signal) });
  const closed = await closeTurns(30);
  settler.push(closed.slice(0, 10));
  await expect.poll(depth, { interval: 5 }).toBe(20);
  settler.push(closed.slice(10));
  await settler.stop();
  expect(await depth()).toBe(0);
  expect(quota.countDone(bot.workspaceId)).toBe(30);
});

test("the settler settles the turns that a dead process left in the outbox", async () => {
  await closeTurns(1_200);
  await db.admin.query("UPDATE conversation.outbox SET created_at = created_at - interval '1 minute'");
  newSettler().start();
  await expect.poll(depth, { timeout: 20_000, interval: 20 }).toBe(0);
  expect(quota.countDone(bot.workspaceId)).toBe(1_200);
});

test("the settler keeps turns in the outbox while the quota service is down, and settles them when it is up again", async () => {
  const settler = newSettler();
  settler.start();
  quota.isUnavailable = true;
  settler.push(await closeTurns(20));
  // After 2.5 s the turns are old enough for the poll, which reads turns from an age of 2 s.
  await expect
    .poll(async () => (await measureOutbox(db.database)).oldestSeconds, { timeout: 20_000 })
    .toBeGreaterThan(2.5);
  expect(await depth()).toBe(20);
  quota.isUnavailable = false;
  await expect.poll(depth, { timeout: 20_000, interval: 50 }).toBe(0);
  expect(quota.countDone(bot.workspaceId)).toBe(20);
});

test("the settler sends turns again that quota's response omits, without delaying other turns", async () => {
  const turns = await closeTurns(1_001);
  await db.admin.query("UPDATE conversation.outbox SET created_at = now() - interval '1 hour'");
  const stuck = turns.slice(0, 501).map((turn) => turn.turnId);
  quota.unacknowledged = new Set(stuck);
  const settler = newSettler();
  settler.start();
  await expect.poll(depth, { timeout: 20_000, interval: 20 }).toBe(501);
  quota.unacknowledged.clear();
  await expect.poll(depth, { timeout: 20_000, interval: 20 }).toBe(0);
  expect(quota.countDone(bot.workspaceId)).toBe(1_001);
});

test("two settlers that run concurrently settle every turn of the outbox", async () => {
  await closeTurns(1_000);
  await db.admin.query("UPDATE conversation.outbox SET created_at = now() - interval '1 minute'");
  for (const settler of [newSettler(), newSettler()]) settler.start();
  await expect.poll(depth, { timeout: 20_000, interval: 20 }).toBe(0);
  expect(quota.countDone(bot.workspaceId)).toBe(1_000);
});

test("a replica without the outbox lease settles pushed turns at once again after a failed call", async () => {
  newSettler().start();
  // Until the first replica holds the lease.
  await sleep(1_500);
  const other = newSettler();
  other.start();
  quota.isSettleUnavailable = true;
  other.push(await closeTurns(1));
  await sleep(1_500);
  quota.isSettleUnavailable = false;
  await expect.poll(depth).toBe(0);
  // Longer than a replica's pause after a failure.
  await sleep(3_000);
  const startedAt = performance.now();
  other.push(await closeTurns(1));
  await expect.poll(depth, { interval: 5 }).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(500);
});

test("one of two replicas polls the outbox, and the other takes over when it stops", async () => {
  const replicas = [0, 1].map(() => {
    const reads = { count: 0 };
    const query = (...[statement, values]: [Statement | string, unknown[]?]) => {
      if (typeof statement === "object" && statement.text.includes("ORDER BY created_at")) reads.count++;
      return db.database.query(statement as string, values);
    };
    return { reads, settler: newSettler({ database: { query } as unknown as Database }) };
  });
  for (const { settler } of replicas) settler.start();
  await sleep(4_000);
  const [reader, other] = replicas.toSorted((a, b) => b.reads.count - a.reads.count);
  expect(reader?.reads.count).toBeGreaterThan(1);
  expect(other?.reads.count).toBe(0);
  await reader?.settler.stop();
  await expect.poll(() => other?.reads.count, { timeout: 5_000 }).toBeGreaterThan(0);
}, 30_000);

test("the settler reports the outbox depth, the age of its oldest turn and the settle lag", async () => {
  const registry = new Registry();
  const settler = newSettler({ registry });
  const closed = await closeTurns(3);
  await db.admin.query("UPDATE conversation.outbox SET created_at = now() - interval '90 seconds'");
  // A scrape that waits too long for the database reports NaN.
  await expect.poll(() => registry.metrics()).toContain("parley_outbox_depth 3");
  const oldestSeconds = async () => Number(/^parley_outbox_oldest_seconds (\S+)/m.exec(await registry.metrics())?.[1]);
  await expect.poll(oldestSeconds).toBeGreaterThanOrEqual(90);
  settler.push(closed);
  await settler.stop();
  expect(await registry.metrics()).toContain("parley_settle_lag_seconds_count 3");
  await expect.poll(() => registry.metrics()).toContain("parley_outbox_depth 0");
});

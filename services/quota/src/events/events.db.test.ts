import { randomUUID } from "node:crypto";
import { transaction } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adjustTurns } from "../reconciliation/adjustments.store.ts";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase } from "../testing/quota-database.ts";
import { insertAdjustment } from "../usage/adjustments.store.ts";
import { reserve } from "../usage/reservations.store.ts";
import { settle } from "../usage/settlements.store.ts";
import { updatePlan, updateThresholds } from "../workspaces/workspaces.store.ts";
import { listEvents, listMonthEvents } from "./events.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

const month = new Date().toISOString().slice(0, 7);

const settleDone = (turns: readonly { workspaceId: string; turnId: string }[]) =>
  settle(
    quota.database,
    turns.map((each) => ({ ...each, outcome: "done" as const, month })),
  );
const useMessages = (workspaceId: string, count: number) =>
  settleDone(Array.from({ length: count }, () => ({ workspaceId, turnId: randomUUID() })));

/** Returns a workspace's events as texts, the oldest first. */
async function eventsOf(workspaceId: string): Promise<string[]> {
  const events = await listMonthEvents(quota.database, { workspaceId, month, limit: 100 });
  return events
    .toReversed()
    .map(({ type, threshold, generation, used, cap }) => `${type} ${threshold} #${generation} ${used}/${cap}`);
}

test("200 workspaces that cross thresholds concurrently, with repeated calls, record each threshold once", async () => {
  const workspaces = [];
  for (let n = 0; n < 200; n++) workspaces.push(await createWorkspace(quota, 20));
  const turns = workspaces.flatMap((workspaceId) =>
    Array.from({ length: 20 }, () => ({ workspaceId, turnId: randomUUID() })),
  );
  // Batches over many workspaces, each sent twice, as after a lost response.
  const batches = Array.from({ length: 40 }, (_, n) => turns.filter((_, index) => index % 40 === n));
  const queue = [...batches, ...batches];
  const read: string[] = [];
  let after = 0;
  const readEvents = async () => {
    const events = await listEvents(quota.database, after, 50);
    read.push(...events.map(({ id }) => id));
    after = events.at(-1)?.position ?? after;
    return events.length;
  };
  const settleNext = async (): Promise<void> => {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
      await settleDone(batch);
      await readEvents();
    }
  };
  // One reader at a time has a position.
  const settleOnly = async (): Promise<void> => {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) await settleDone(batch);
  };
  await Promise.all([settleNext(), ...Array.from({ length: 7 }, settleOnly)]);
  while ((await readEvents()) > 0);
  for (const workspaceId of workspaces) {
    const events = await listMonthEvents(quota.database, { workspaceId, month, limit: 100 });
    expect(events.map(({ type, threshold, generation }) => [type, threshold, generation])).toEqual(
      [100, 95, 80, 50].map((threshold) => ["usage.threshold", threshold, 1]),
    );
  }
  expect(read).toHaveLength(800);
  expect(new Set(read).size).toBe(800);
}, 120_000);

test("a fall below a threshold is recorded and begins a generation, in which the threshold is recorded again", async () => {
  const workspaceId = await createWorkspace(quota, 10);
  await useMessages(workspaceId, 9);
  const first = ["usage.threshold 50 #1 9/10", "usage.threshold 80 #1 9/10"];
  expect(await eventsOf(workspaceId)).toEqual(first);
  const adjustment = { workspaceId, month, reason: "outage", operator: "ada" };
  const adjust = (amount: number) => insertAdjustment(quota.database, { ...adjustment, amount, id: randomUUID() });
  await adjust(-2);
  await adjust(-1);
  expect(await eventsOf(workspaceId)).toEqual([...first, "usage.resolved 80 #1 7/10"]);
  await adjust(2);
  expect(await eventsOf(workspaceId)).toEqual([
    ...[...first, "usage.resolved 80 #1 7/10"],
    "usage.threshold 80 #2 8/10",
  ]);
});

test("adjustments by the reconciler record thresholds, and an event that is recorded again has the same id", async () => {
  const workspaceId = await createWorkspace(quota, 2);
  const turn = { workspaceId, turnId: randomUUID() };
  await settleDone([turn]);
  const [event] = await listMonthEvents(quota.database, { workspaceId, month, limit: 1 });
  await adjustTurns(quota.database, { turns: [turn], outcome: "void", reason: "reconciled" });
  expect(await eventsOf(workspaceId)).toEqual(["usage.threshold 50 #1 1/2", "usage.resolved 50 #1 0/2"]);
  // As after a restore to a time before the first settlement.
  await quota.admin.query("DELETE FROM quota.events WHERE workspace_id = $1", [workspaceId]);
  await quota.admin.query("UPDATE quota.usage SET generation = 1 WHERE workspace_id = $1", [workspaceId]);
  await adjustTurns(quota.database, { turns: [turn], outcome: "done", reason: "reconciled" });
  expect(await listMonthEvents(quota.database, { workspaceId, month, limit: 9 })).toMatchObject([{ id: event?.id }]);
});

test("a change of the plan records what the usage then reaches, and what it no longer reaches", async () => {
  const workspaceId = await createWorkspace(quota, 10);
  await createWorkspace(quota, 100);
  await useMessages(workspaceId, 9);
  await updatePlan(quota.database, workspaceId, "cap-100");
  expect(await eventsOf(workspaceId)).toEqual([
    ...["usage.threshold 50 #1 9/10", "usage.threshold 80 #1 9/10"],
    ...["usage.resolved 50 #1 9/100", "usage.resolved 80 #1 9/100"],
  ]);
  await updatePlan(quota.database, workspaceId, "cap-10");
  expect((await eventsOf(workspaceId)).slice(4)).toEqual(["usage.threshold 50 #2 9/10", "usage.threshold 80 #2 9/10"]);
  await Promise.all([
    useMessages(workspaceId, 1),
    updatePlan(quota.database, workspaceId, "cap-100"),
    useMessages(workspaceId, 1),
  ]);
  const { rows } = await quota.admin.query(
    "SELECT used, reached, reaches_at, falls_below FROM quota.usage WHERE workspace_id = $1",
    [workspaceId],
  );
  expect(rows).toEqual([{ used: 11, reached: 0, reaches_at: 50, falls_below: 0 }]);
});

test("a workspace has its own thresholds, and messages on credits or of other months reach none", async () => {
  const workspaceId = await createWorkspace(quota, 10);
  await updateThresholds(quota.database, workspaceId, [30]);
  await settle(
    quota.database,
    Array.from({ length: 9 }, () => ({
      workspaceId,
      turnId: randomUUID(),
      outcome: "done" as const,
      month: "2024-03",
    })),
  );
  await useMessages(workspaceId, 2);
  expect(await eventsOf(workspaceId)).toEqual([]);
  await updateThresholds(quota.database, workspaceId, [20, 90]);
  expect(await eventsOf(workspaceId)).toEqual(["usage.threshold 20 #1 2/10"]);
  for (let n = 0; n < 3; n++) await reserve(quota.database, workspaceId, randomUUID());
  expect(await eventsOf(workspaceId)).toHaveLength(1);
});

test("ListEvents never skips the event of a transaction that is still running", async () => {
  const [slow, fast] = [await createWorkspace(quota, 1), await createWorkspace(quota, 1)];
  let after = 0;
  for (let events = await listEvents(quota.database, 0, 500); events.length > 0; ) {
    after = events.at(-1)?.position ?? after;
    events = await listEvents(quota.database, after, 500);
  }
  await useMessages(slow, 1);
  const adjustment = { month, reason: "r", operator: "o", amount: -1 };
  await transaction(quota.database, async (connection) => {
    await connection.query("SELECT quota.lock_events()");
    await connection.query("SELECT nextval('quota.events_event_id_seq')");
    await insertAdjustment(quota.database, { ...adjustment, workspaceId: fast, amount: 1, id: randomUUID() });
    expect(await listEvents(quota.database, after, 500)).toEqual([]);
  });
  const events = await listEvents(quota.database, after, 500);
  expect(new Set(events.map(({ workspaceId }) => workspaceId))).toEqual(new Set([slow, fast]));
  // A position that the database has not assigned: it was restored to an earlier time.
  expect((await listEvents(quota.database, 1_000_000_000, 500)).length).toBeGreaterThan(0);
});

import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { SettleOutcomeName } from "@parley/rpc/outcomes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adjustTurns } from "../reconciliation/adjustments.store.ts";
import { chargesOf, createChargedWorkspace } from "../testing/charges.ts";
import { createQuotaDatabase, type QuotaDatabase, usageOf } from "../testing/quota-database.ts";
import { insertAdjustment } from "../usage/adjustments.store.ts";
import { reserve } from "../usage/reservations.store.ts";
import { settle } from "../usage/settlements.store.ts";
import { readUsage } from "../usage/usage.store.ts";
import { updatePlan } from "../workspaces/workspaces.store.ts";
import { insertCredit, listCredits, revokeCredit } from "./credits.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

const thisMonth = new Date().toISOString().slice(0, 7);
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000);

async function addCredit(workspaceId: string, messages: number, expiresAt: Date | null = null): Promise<string> {
  const id = randomUUID();
  await insertCredit(quota.database, { workspaceId, id, messages, expiresAt, reason: "bought", operator: "ada" });
  return id;
}

const hold = (workspaceId: string, turnId: string = randomUUID()) => reserve(quota.database, workspaceId, turnId);

async function holdTurns(workspaceId: string, count: number): Promise<string[]> {
  const turns = Array.from({ length: count }, () => randomUUID());
  for (const turn of turns) expect(await hold(workspaceId, turn)).toMatchObject({ status: "held" });
  return turns;
}

const end = (workspaceId: string, outcome: SettleOutcomeName, ...turns: string[]) =>
  settle(
    quota.database,
    turns.map((turnId) => ({ workspaceId, turnId, outcome, month: undefined })),
  );

describe("Reserve", () => {
  test("a thousand concurrent calls use exactly the plan, the credits by expiry, and the overage", async () => {
    const workspace = await createChargedWorkspace(quota, { cap: 100, overage: 150 });
    const late = await addCredit(workspace, 200);
    const early = await addCredit(workspace, 300, inHours(1));
    const results: Awaited<ReturnType<typeof hold>>[] = [];
    const holdNext = async (): Promise<void> => {
      while (results.length < 1_000) results[results.push(undefined) - 1] = await hold(workspace);
    };
    await Promise.all(Array.from({ length: 60 }, holdNext));
    expect(results.filter((result) => result?.status === "held")).toHaveLength(750);
    for (const result of results) expect(result).toMatchObject({ plan: "cap-100-150", cap: 100 });
    const refused = results.filter((result) => result?.status === "exceeded");
    expect(refused).toHaveLength(250);
    for (const result of refused) expect(result).toMatchObject({ used: 100 });
    expect(await chargesOf(quota, workspace)).toEqual({
      ...{ plan: 100, credit: 500, overage: 150, done: 0, differs: false },
    });
    expect(await listCredits(quota.database, workspace)).toMatchObject([
      { id: early, used: 0, held: 300, left: 0 },
      { id: late, used: 0, held: 200, left: 0 },
    ]);
  });

  test("takes messages in the order plan, first expiry, later expiry, no expiry, overage", async () => {
    const workspace = await createChargedWorkspace(quota, { cap: 1, overage: 1 });
    const never = await addCredit(workspace, 1);
    const later = await addCredit(workspace, 1, inHours(2));
    const first = await addCredit(workspace, 1, inHours(1));
    const turns = await holdTurns(workspace, 5);
    const { rows } = await quota.admin.query(
      "SELECT charge, credit_id AS id FROM quota.reservations WHERE workspace_id = $1 ORDER BY array_position($2, turn_id)",
      [workspace, turns],
    );
    expect(rows).toEqual([
      { charge: null, id: null },
      ...[first, later, never].map((id) => ({ charge: "credit", id })),
      { charge: "overage", id: null },
    ]);
    expect(await hold(workspace)).toEqual({ status: "exceeded", plan: "cap-1-1", used: 1, cap: 1 });
    // A message of the plan that becomes free is used again before the overage.
    await end(workspace, "void", turns[0] ?? "");
    await end(workspace, "void", turns[4] ?? "");
    await holdTurns(workspace, 1);
    expect(await chargesOf(quota, workspace)).toMatchObject({ plan: 1, credit: 3, overage: 0 });
  });

  test("holds one message of a credit when many calls reserve for the same turn", async () => {
    const workspace = await createChargedWorkspace(quota, { cap: 1, overage: 0 });
    await holdTurns(workspace, 1);
    await addCredit(workspace, 1);
    const turn = randomUUID();
    const results = await Promise.all(Array.from({ length: 50 }, () => hold(workspace, turn)));
    for (const result of results)
      expect(result).toMatchObject({ status: "held", month: thisMonth, used: 1, cap: 1, day: expect.any(String) });
    expect(await chargesOf(quota, workspace)).toEqual({ plan: 1, credit: 1, overage: 0, done: 0, differs: false });
  });

  test("uses no credit that has expired or was revoked, and none of a plan with a cap of 0", async () => {
    const workspace = await createChargedWorkspace(quota, { cap: 1, overage: 0 });
    await holdTurns(workspace, 1);
    const credit = await addCredit(workspace, 5);
    await revokeCredit(quota.database, workspace, credit);
    await addCredit(workspace, 5, inHours(-1));
    expect(await hold(workspace)).toMatchObject({ status: "exceeded" });
    expect((await listCredits(quota.database, workspace)).map(({ left }) => left)).toEqual([0, 0]);
    const disabled = await createChargedWorkspace(quota, { cap: 0, overage: 5 });
    await addCredit(disabled, 5);
    expect(await hold(disabled)).toEqual({ status: "exceeded", plan: "cap-0-5", used: 0, cap: 0 });
  });

  test("a client's share and the bound on unpaid replies also limit credits and overage", async () => {
    const workspace = await createChargedWorkspace(quota, { cap: 5, overage: 15 });
    await addCredit(workspace, 20);
    const client = randomBytes(16);
    // A tenth of the 40 messages.
    for (let n = 0; n < 4; n++)
      expect(await reserve(quota.database, workspace, randomUUID(), { client })).toMatchObject({ status: "held" });
    const refused = await reserve(quota.database, workspace, randomUUID(), { client });
    expect(refused).toMatchObject({ status: "client_limit", used: 4, cap: 5 });
    await holdTurns(workspace, 6);
    expect(await chargesOf(quota, workspace)).toMatchObject({ plan: 5, credit: 5 });
    await quota.admin.query(
      "UPDATE quota.usage SET unpaid = 50, unpaid_day = (now() AT TIME ZONE 'UTC')::date WHERE workspace_id = $1",
      [workspace],
    );
    expect(await hold(workspace)).toMatchObject({ status: "unpaid_limit", used: 5, cap: 5 });
  });
});

describe("Settle", () => {
  test("charges or returns each turn's own message under concurrent, repeated and contrary calls", async () => {
    const workspace = await createChargedWorkspace(quota, { cap: 20, overage: 30 });
    const credits = [await addCredit(workspace, 25, inHours(1)), await addCredit(workspace, 25)];
    const turns = Array.from({ length: 120 }, () => randomUUID());
    await Promise.all(
      turns.flatMap((turn, n) => [
        hold(workspace, turn),
        sleep(n).then(() => end(workspace, n % 3 === 0 ? "done" : "void", turn, turns[n + 1] ?? turn)),
        sleep(n + 20).then(() => end(workspace, n % 2 === 0 ? "done" : "void", turn)),
        hold(workspace, turn),
      ]),
    );
    await end(workspace, "void", ...turns);
    const charges = await chargesOf(quota, workspace);
    expect(charges).toMatchObject({ differs: false });
    const { usedCounter, heldCounter, ledgerRows, doneReservations } = await usageOf(quota, workspace);
    expect(heldCounter).toBe(0);
    expect(usedCounter).toBe(ledgerRows);
    expect(usedCounter).toBe(doneReservations);
    expect(charges.plan + charges.credit + charges.overage).toBe(usedCounter);
    const listed = await listCredits(quota.database, workspace);
    expect(listed.map(({ id }) => id).sort()).toEqual(credits.sort());
    expect(listed.reduce((sum, { used }) => sum + used, 0)).toBe(charges.credit);
    for (const { used, held } of listed) expect({ held, isWithin: used <= 25 }).toEqual({ held: 0, isWithin: true });
  });

  test("counts a message that was held before its credit expired, and a credit's message in the month of the hold", async () => {
    const workspace = await createChargedWorkspace(quota, { cap: 1, overage: 0 });
    const credit = await addCredit(workspace, 5, inHours(1));
    const turns = await holdTurns(workspace, 3);
    await quota.admin.query("UPDATE quota.credits SET expires_at = now() WHERE credit_id = $1", [credit]);
    expect(await hold(workspace)).toMatchObject({ status: "exceeded" });
    // The holds are of the previous month.
    for (const table of ["usage", "reservations"])
      await quota.admin.query(`UPDATE quota.${table} SET month = month - interval '1 month' WHERE workspace_id = $1`, [
        workspace,
      ]);
    await holdTurns(workspace, 1);
    await end(workspace, "done", ...turns.slice(0, 2));
    await end(workspace, "void", ...turns.slice(2));
    expect(await listCredits(quota.database, workspace)).toMatchObject([{ used: 1, held: 0, left: 0 }]);
    const { rows } = await quota.admin.query(
      `SELECT used, held, credit_used, credit_held, quota.charges_differ(workspace_id, month, false) AS differs
       FROM quota.usage WHERE workspace_id = $1 ORDER BY month`,
      [workspace],
    );
    expect(rows).toEqual([
      { used: 2, held: 0, credit_used: 1, credit_held: 0, differs: false },
      { used: 0, held: 1, credit_used: 0, credit_held: 0, differs: false },
    ]);
  });

  test("charges a turn without a hold, as after a restore, to the plan", async () => {
    const workspace = await createChargedWorkspace(quota, { cap: 1, overage: 5 });
    await addCredit(workspace, 5);
    const [, heldTurn = ""] = await holdTurns(workspace, 2);
    await end(workspace, "done", randomUUID(), randomUUID(), heldTurn);
    expect(await chargesOf(quota, workspace)).toEqual({ plan: 3, credit: 1, overage: 0, done: 3, differs: false });
    expect(await hold(workspace)).toMatchObject({ status: "held", used: 1, cap: 1 });
    expect(await chargesOf(quota, workspace)).toMatchObject({ plan: 3, credit: 2 });
  });
});

test("adjustments return a message to where it was charged, and charge it there again, also after its expiry", async () => {
  const workspace = await createChargedWorkspace(quota, { cap: 1, overage: 1 });
  const credit = await addCredit(workspace, 1, inHours(1));
  const turns = await holdTurns(workspace, 3);
  await end(workspace, "done", ...turns);
  await quota.admin.query("UPDATE quota.credits SET expires_at = now() WHERE credit_id = $1", [credit]);
  const all = turns.map((turnId) => ({ workspaceId: workspace, turnId }));
  const adjust = (outcome: SettleOutcomeName) =>
    Promise.all(
      Array.from({ length: 5 }, () => adjustTurns(quota.database, { turns: all, outcome, reason: "reconciled" })),
    );
  await adjust("void");
  expect(await chargesOf(quota, workspace)).toEqual({ plan: 0, credit: 0, overage: 0, done: 0, differs: false });
  expect(await listCredits(quota.database, workspace)).toMatchObject([{ used: 0 }]);
  await adjust("done");
  expect(await chargesOf(quota, workspace)).toEqual({ plan: 1, credit: 1, overage: 1, done: 3, differs: false });
  expect(await listCredits(quota.database, workspace)).toMatchObject([{ used: 1 }]);
});

test("an operator's correction changes the plan's part of the usage, which cannot fall below 0", async () => {
  const workspaceId = await createChargedWorkspace(quota, { cap: 2, overage: 3 });
  await end(workspaceId, "done", ...(await holdTurns(workspaceId, 5)));
  const correct = (amount: number) =>
    insertAdjustment(quota.database, {
      ...{ workspaceId, id: randomUUID(), month: thisMonth, amount, reason: "outage", operator: "ada" },
    });
  expect(await correct(-3)).toBe("below_zero");
  expect(await correct(-2)).toMatchObject({ used: 3 });
  expect(await readUsage(quota.database, workspaceId)).toMatchObject({ used: 3, overageUsed: 3, overageCap: 3 });
  await holdTurns(workspaceId, 2);
  expect(await hold(workspaceId)).toMatchObject({ status: "exceeded" });
  expect(await chargesOf(quota, workspaceId)).toMatchObject({ differs: false });
});

test("after a change to a plan without overage, messages of the overage stay and no further one is used", async () => {
  const workspace = await createChargedWorkspace(quota, { cap: 2, overage: 2 });
  await end(workspace, "done", ...(await holdTurns(workspace, 3)));
  await createChargedWorkspace(quota, { cap: 2, overage: 0 });
  await updatePlan(quota.database, workspace, "cap-2-0");
  expect(await hold(workspace)).toMatchObject({ status: "exceeded", used: 2, cap: 2 });
  expect(await readUsage(quota.database, workspace)).toMatchObject({ used: 3, overageUsed: 1, overageCap: 0 });
});

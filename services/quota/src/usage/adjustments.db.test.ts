import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase, usageOf } from "../testing/quota-database.ts";
import { insertAdjustment, listAdjustments } from "./adjustments.store.ts";
import { listUsage } from "./list-usage.store.ts";
import { reserve } from "./reservations.store.ts";
import { settle } from "./settlements.store.ts";
import { listTurns, readMonth, readMonthPage, readUsage } from "./usage.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

const month = new Date().toISOString().slice(0, 7);

async function settleAsDone(workspaceId: string, turns: number, ofMonth = month): Promise<void> {
  const settlements = Array.from({ length: turns }, () => ({ workspaceId, turnId: randomUUID(), month: ofMonth }));
  await settle(
    quota.database,
    settlements.map((each) => ({ ...each, outcome: "done" })),
  );
}

const newAdjustment = (workspaceId: string, amount: number, ofMonth = month) => ({
  ...{ workspaceId, amount, month: ofMonth, id: randomUUID() },
  ...{ reason: "outage on the 3rd", operator: "ada" },
});

test("concurrent insertions of one adjustment change usage once, and every report of usage includes the adjustment", async () => {
  const workspaceId = await createWorkspace(quota, 100);
  await settleAsDone(workspaceId, 5);
  const adjustment = newAdjustment(workspaceId, -3);
  const results = await Promise.all(Array.from({ length: 20 }, () => insertAdjustment(quota.database, adjustment)));
  const { workspaceId: _, ...stored } = adjustment;
  for (const result of results)
    expect(result).toEqual({ adjustment: { ...stored, adjustedAt: expect.any(Date) }, used: 2 });
  expect(await listAdjustments(quota.database, { workspaceId, month, limit: 10 })).toHaveLength(1);
  // `ledger` includes the adjustment.
  const totals = { used: 2, ledger: 2, held: 0, adjusted: -3 };
  expect(await readMonth(quota.database, workspaceId, month)).toMatchObject([totals]);
  const page = await readMonthPage(quota.database, month, { after: "", limit: 100 });
  expect(page.find((each) => each.workspaceId === workspaceId)).toMatchObject(totals);
  expect(await readUsage(quota.database, workspaceId)).toMatchObject({ used: 2, adjusted: -3 });
  const listed = await listUsage(quota.database, month, { after: "", limit: 100 });
  expect(listed.find((each) => each.workspaceId === workspaceId)).toMatchObject({ used: 2, adjusted: -3 });
  const { counted } = await listTurns(quota.database, workspaceId, month);
  expect(counted).toHaveLength(5);
});

test("refuses concurrent adjustments that would make usage negative and stores nothing for them", async () => {
  const workspaceId = await createWorkspace(quota, 100);
  await settleAsDone(workspaceId, 3, "2026-01");
  const adjustments = Array.from({ length: 12 }, () => newAdjustment(workspaceId, -1, "2026-01"));
  const results = await Promise.all(adjustments.map((each) => insertAdjustment(quota.database, each)));
  expect(results.filter((result) => result === "below_zero")).toHaveLength(9);
  // `ledgerRows` does not include the adjustments.
  expect(await usageOf(quota, workspaceId)).toMatchObject({ usedCounter: 0, ledgerRows: 3 });
  expect(await listAdjustments(quota.database, { workspaceId, month: "2026-01", limit: 100 })).toHaveLength(3);
  // Nothing can be removed from a month without usage.
  expect(await insertAdjustment(quota.database, newAdjustment(workspaceId, -1, "2026-02"))).toBe("below_zero");
  expect(await insertAdjustment(quota.database, newAdjustment(workspaceId, 2, "2026-02"))).toMatchObject({ used: 2 });
  expect(await insertAdjustment(quota.database, newAdjustment("unknown", 2))).toBeUndefined();
});

test("adjustments keep usage exact while turns are reserved and settled, and count against the cap", async () => {
  const workspaceId = await createWorkspace(quota, 60);
  await settleAsDone(workspaceId, 5);
  const reserveAndSettle = async (): Promise<number> => {
    const turnId = randomUUID();
    const reservation = await reserve(quota.database, workspaceId, turnId);
    if (reservation?.status !== "held") return 0;
    await settle(quota.database, [{ workspaceId, turnId, outcome: "done", month: undefined }]);
    return 1;
  };
  const adjust = async (amount: number): Promise<number> => {
    await insertAdjustment(quota.database, newAdjustment(workspaceId, amount));
    return 0;
  };
  const work = Array.from({ length: 40 }, (_, index) =>
    index % 8 === 0 ? adjust(index === 0 ? -5 : 1) : reserveAndSettle(),
  );
  const done = (await Promise.all(work)).reduce((sum, each) => sum + each, 0);
  // Four adjustments add 1 each, and one removes 5.
  expect(await readMonth(quota.database, workspaceId, month)).toMatchObject([
    { used: 5 + done - 1, ledger: 5 + done - 1, held: 0, adjusted: -1 },
  ]);
  const laterResults = await Promise.all(Array.from({ length: 40 }, reserveAndSettle));
  expect(5 + done - 1 + laterResults.reduce((sum, each) => sum + each, 0)).toBe(60);
});

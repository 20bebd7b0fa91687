import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { AdjustTurnsRequestSchema, SettleOutcome } from "@parley/rpc/quota";
import { singleShard } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase, usageOf } from "../testing/quota-database.ts";
import { insertAdjustment } from "../usage/adjustments.store.ts";
import { listTurns, readMonth } from "../usage/index.ts";
import { reserve } from "../usage/reservations.store.ts";
import { settle } from "../usage/settlements.store.ts";
import { handleAdjustTurns } from "./adjust-turns.rpc.ts";
import { adjustTurns } from "./adjustments.store.ts";
import { findReservations, listReservations } from "./reservations.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

const month = new Date().toISOString().slice(0, 7);
const reason = "reconciled";

async function settleAsDone(workspaceId: string, turns: number) {
  const settled = Array.from({ length: turns }, () => ({ workspaceId, turnId: randomUUID() }));
  await settle(
    quota.database,
    settled.map((turn) => ({ ...turn, outcome: "done", month })),
  );
  return settled;
}

test("an adjustment changes usage once under concurrent calls, and usage stays equal to the ledger plus adjustments", async () => {
  const workspace = await createWorkspace(quota, 10);
  const turns = await settleAsDone(workspace, 4);
  const [kept, ...lost] = turns;
  const calls = Array.from({ length: 20 }, () => adjustTurns(quota.database, { turns: lost, outcome: "void", reason }));
  expect((await Promise.all(calls)).flatMap((result) => result.adjusted)).toHaveLength(3);
  expect(await usageOf(quota, workspace)).toEqual({
    usedCounter: 1,
    heldCounter: 0,
    ledgerRows: 4,
    doneReservations: 1,
    heldReservations: 0,
  });
  const other = await createWorkspace(quota, 10);
  await settle(quota.database, [{ workspaceId: other, turnId: kept?.turnId ?? "", outcome: "done", month }]);
  const [expected] = await readMonth(quota.database, other, month);
  expect(await readMonth(quota.database, workspace, month)).toEqual([{ ...expected, workspaceId: workspace }]);
  expect(await listTurns(quota.database, workspace, month)).toEqual({ counted: [kept?.turnId], held: [] });
  // `ledger` includes the adjustments. `ledgerRows` of usageOf does not.
  expect((await readMonth(quota.database, "", month)).find((each) => each.workspaceId === workspace)).toMatchObject({
    used: 1,
    ledger: 1,
  });

  expect((await adjustTurns(quota.database, { turns, outcome: "done", reason })).adjusted).toHaveLength(3);
  expect(await usageOf(quota, workspace)).toMatchObject({ usedCounter: 4, doneReservations: 4 });
  expect(await readMonth(quota.database, workspace, month)).toMatchObject([{ used: 4, ledger: 4 }]);
  const { counted } = await listTurns(quota.database, workspace, month);
  expect(new Set(counted)).toEqual(new Set(turns.map((turn) => turn.turnId)));
  expect(counted).toHaveLength(4);
});

test("adjustments cause no deadlock and keep usage exact while turns are reserved and settled", async () => {
  const workspace = await createWorkspace(quota, 1_000);
  const turns = await settleAsDone(workspace, 20);
  const reserveAndSettle = async () => {
    const turnId = randomUUID();
    await reserve(quota.database, workspace, turnId);
    await settle(quota.database, [{ workspaceId: workspace, turnId, outcome: "done", month: undefined }]);
  };
  const flip = async (index: number) => {
    for (const outcome of ["void", "done", "void"] as const)
      await adjustTurns(quota.database, { turns: turns.slice(index, index + 10), outcome, reason });
  };
  await Promise.all([...Array.from({ length: 40 }, reserveAndSettle), flip(0), flip(10)]);
  expect(await usageOf(quota, workspace)).toEqual({
    usedCounter: 40,
    heldCounter: 0,
    ledgerRows: 60,
    doneReservations: 40,
    heldReservations: 0,
  });
  expect(await readMonth(quota.database, workspace, month)).toMatchObject([{ used: 40, ledger: 40 }]);
});

test("an adjustment changes neither a hold nor an unknown turn, and a repeated Settle returns the adjusted outcome", async () => {
  const workspaceId = await createWorkspace(quota, 10);
  const [turn] = await settleAsDone(workspaceId, 1);
  const held = { workspaceId, turnId: randomUUID() };
  await reserve(quota.database, workspaceId, held.turnId);
  const turns = [held, { workspaceId, turnId: randomUUID() }];
  const unchanged = { adjusted: [], belowZeroCount: 0 };
  expect(await adjustTurns(quota.database, { turns, outcome: "done", reason })).toEqual(unchanged);
  expect(await adjustTurns(quota.database, { turns, outcome: "void", reason })).toEqual(unchanged);
  expect(await usageOf(quota, workspaceId)).toMatchObject({ usedCounter: 1, heldCounter: 1 });

  const counted = { workspaceId, turnId: turn?.turnId ?? "" };
  await adjustTurns(quota.database, { turns: [counted], outcome: "void", reason });
  expect(await settle(quota.database, [{ ...counted, outcome: "done", month }])).toEqual([
    { ...counted, outcome: "void", code: "" },
  ]);
  expect(await usageOf(quota, workspaceId)).toMatchObject({ usedCounter: 0, heldCounter: 1 });
  const states = await findReservations(quota.database, [...turns, counted]);
  expect(states.map(({ turnId, state }) => [turnId, state])).toEqual(
    expect.arrayContaining([
      [held.turnId, "held"],
      [counted.turnId, "void"],
    ]),
  );
  expect(states).toHaveLength(2);
});

test("after an operator lowers usage, AdjustTurns voids turns only until usage is 0, and voids the rest after the operator raises usage again", async () => {
  const workspaceId = await createWorkspace(quota, 10);
  const januaryTurn = { workspaceId, turnId: randomUUID() };
  await settle(quota.database, [{ ...januaryTurn, outcome: "done", month: "2026-01" }]);
  const turns = [...(await settleAsDone(workspaceId, 5)), januaryTurn];
  const correct = (amount: number) =>
    insertAdjustment(quota.database, { workspaceId, month, amount, id: randomUUID(), reason, operator: "ada" });
  const warnings: object[] = [];
  const log = { warn: (fields: object) => void warnings.push(fields) };
  const request = create(AdjustTurnsRequestSchema, { turns, outcome: SettleOutcome.VOID, reason });
  const adjust = () => handleAdjustTurns({ ...singleShard(quota.database), log }, request);

  await correct(-2);
  expect((await adjust()).adjusted).toHaveLength(4);
  expect(warnings).toMatchObject([{ workspace_id: workspaceId, turns: 2 }]);
  expect(await readMonth(quota.database, workspaceId, month)).toMatchObject([{ used: 0, ledger: 0, adjusted: -2 }]);
  expect(await readMonth(quota.database, workspaceId, "2026-01")).toMatchObject([{ used: 0, ledger: 0 }]);
  expect((await listTurns(quota.database, workspaceId, month)).counted).toHaveLength(2);

  await correct(2);
  expect((await adjust()).adjusted).toHaveLength(2);
  expect(warnings).toHaveLength(1);
  expect(await readMonth(quota.database, workspaceId, month)).toMatchObject([{ used: 0, ledger: 0, adjusted: 0 }]);
  expect((await listTurns(quota.database, workspaceId, month)).counted).toEqual([]);
});

test("concurrent adjustments after a correction by the operator never make usage negative", async () => {
  const workspaceId = await createWorkspace(quota, 30);
  const turns = await settleAsDone(workspaceId, 20);
  const correction = { workspaceId, month, amount: -10, id: randomUUID(), reason, operator: "ada" };
  await insertAdjustment(quota.database, correction);
  const calls = turns.map((_, index) => {
    const some = [...turns.slice(index), ...turns].slice(0, 4);
    return adjustTurns(quota.database, { turns: some, outcome: "void", reason });
  });
  expect((await Promise.all(calls)).flatMap((result) => result.adjusted)).toHaveLength(10);
  expect(await readMonth(quota.database, workspaceId, month)).toMatchObject([{ used: 0, ledger: 0 }]);
  expect(await usageOf(quota, workspaceId)).toMatchObject({ usedCounter: 0, doneReservations: 10 });
});

test("when adjustments would make one workspace's usage negative, logs a warning and adjusts the turns of the other workspaces", async () => {
  const [damaged, fine] = [await createWorkspace(quota, 10), await createWorkspace(quota, 10)];
  const turns = [...(await settleAsDone(damaged, 2)), ...(await settleAsDone(fine, 2))];
  await quota.admin.query("UPDATE quota.usage SET used = 0 WHERE workspace_id = $1", [damaged]);
  const warnings: object[] = [];
  const log = { warn: (fields: object) => void warnings.push(fields) };
  const request = create(AdjustTurnsRequestSchema, { turns, outcome: SettleOutcome.VOID, reason });
  const { adjusted } = await handleAdjustTurns({ ...singleShard(quota.database), log }, request);
  expect(adjusted?.map((turn) => turn.workspaceId)).toEqual([fine, fine]);
  expect(warnings).toMatchObject([{ workspace_id: damaged, turns: 2 }]);
});

test("listReservations lists each turn of a window once, page by page, even if turns have equal times", async () => {
  const workspaceId = await createWorkspace(quota, 10);
  const old = await settleAsDone(workspaceId, 3);
  await quota.admin.query(
    "UPDATE quota.reservations SET settled_at = '2026-01-01T00:00:00.000001Z' WHERE workspace_id = $1",
    [workspaceId],
  );
  await settleAsDone(workspaceId, 5);
  const list = async (since: string, minAgeSeconds: number) => {
    const listed: string[] = [];
    const window = { state: "done" as const, workspaceId, since, minAgeSeconds };
    for (let position: { at: string; workspaceId: string; turnId: string } | undefined; ; ) {
      const { reservations } = await listReservations(quota.database, window, { position, limit: 2 });
      listed.push(...reservations.map((each) => each.turnId));
      const last = reservations.at(-1);
      if (last === undefined) return listed;
      position = { ...last, at: last.changedAt };
    }
  };
  expect(new Set(await list("", 0)).size).toBe(8);
  expect(await list("", 0)).toHaveLength(8);
  expect(new Set(await list("", 60))).toEqual(new Set(old.map((turn) => turn.turnId)));
  expect(await list("2026-01-01T00:00:00.000001Z", 60)).toHaveLength(3);
  expect(await list("2026-01-01T00:00:00.000002Z", 60)).toEqual([]);
});

test("AdjustTurns trims the reason", async () => {
  const workspace = await createWorkspace(quota, 10);
  const [turn] = await settleAsDone(workspace, 1);
  const adjust = (text: string) =>
    handleAdjustTurns(
      { ...singleShard(quota.database), log: { warn: () => undefined } },
      create(AdjustTurnsRequestSchema, { turns: turn ? [turn] : [], outcome: SettleOutcome.VOID, reason: text }),
    );
  await adjust(" reconciled ");
  const { rows } = await quota.admin.query("SELECT reason FROM quota.adjustments WHERE turn_id = $1", [turn?.turnId]);
  expect(rows).toEqual([{ reason: "reconciled" }]);
});

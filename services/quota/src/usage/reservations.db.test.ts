import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { SettleOutcomeName } from "@parley/rpc/outcomes";
import { sqlState } from "@parley/service-kit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase, usageOf } from "../testing/quota-database.ts";
import { updatePlan } from "../workspaces/workspaces.store.ts";
import { reserve } from "./reservations.store.ts";
import { type Settlement, settle } from "./settlements.store.ts";
import { readMonth, readUsage } from "./usage.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

const settlement = (workspaceId: string, turnId: string, outcome: SettleOutcomeName, month?: string): Settlement => ({
  workspaceId,
  turnId,
  outcome,
  month,
});
const thisMonth = new Date().toISOString().slice(0, 7);

describe("Reserve", () => {
  test("never holds more than the cap under concurrent calls", async () => {
    const workspace = await createWorkspace(quota, 25);
    const results = await Promise.all(
      Array.from({ length: 300 }, () => reserve(quota.database, workspace, randomUUID())),
    );
    expect(results.filter((result) => result?.status === "held")).toHaveLength(25);
    const refused = results.filter((result) => result?.status === "exceeded");
    expect(refused).toHaveLength(275);
    for (const result of refused) expect(result).toMatchObject({ used: 25, cap: 25 });
    expect(await usageOf(quota, workspace)).toMatchObject({ usedCounter: 0, heldCounter: 25, heldReservations: 25 });
  });

  test("holds only one message when a hundred concurrent calls reserve for the same turn", async () => {
    const workspace = await createWorkspace(quota, 25);
    const turn = randomUUID();
    const results = await Promise.all(Array.from({ length: 100 }, () => reserve(quota.database, workspace, turn)));
    for (const result of results) expect(result).toMatchObject({ status: "held", month: thisMonth });
    expect(await usageOf(quota, workspace)).toMatchObject({ heldCounter: 1, heldReservations: 1 });
  });

  test("when a turn takes the last message, returns the hold to every concurrent call for the turn", async () => {
    for (let round = 0; round < 20; round++) {
      const workspace = await createWorkspace(quota, 1);
      const turn = randomUUID();
      const results = await Promise.all(Array.from({ length: 10 }, () => reserve(quota.database, workspace, turn)));
      for (const result of results) expect(result).toMatchObject({ status: "held", month: thisMonth });
    }
  });

  test("returns the existing hold of a turn after the cap is reached", async () => {
    const workspace = await createWorkspace(quota, 1);
    const turn = randomUUID();
    expect(await reserve(quota.database, workspace, turn)).toMatchObject({ status: "held" });
    expect(await reserve(quota.database, workspace, randomUUID())).toMatchObject({ status: "exceeded" });
    expect(await reserve(quota.database, workspace, turn)).toMatchObject({ status: "held", month: thisMonth });
  });

  test("returns undefined for an unknown workspace", async () => {
    expect(await reserve(quota.database, "ws_unknown", randomUUID())).toBeUndefined();
  });

  test("refuses a turn on a plan with a cap of 0, and holds a message immediately after a change to a larger plan", async () => {
    const workspace = await createWorkspace(quota, 0);
    expect(await reserve(quota.database, workspace, randomUUID())).toMatchObject({
      status: "exceeded",
      used: 0,
      cap: 0,
    });
    await updatePlan(quota.database, workspace, "free");
    expect(await reserve(quota.database, workspace, randomUUID())).toMatchObject({ status: "held", cap: 100 });
  });

  test("refuses after a change to a smaller plan, and limits the returned `used` to the new cap", async () => {
    const workspace = await createWorkspace(quota, 25);
    const turns = Array.from({ length: 10 }, () => randomUUID());
    for (const turn of turns) await reserve(quota.database, workspace, turn);
    await quota.admin.query("INSERT INTO quota.plans VALUES ('cap-5', 5) ON CONFLICT DO NOTHING");
    await updatePlan(quota.database, workspace, "cap-5");
    expect(await reserve(quota.database, workspace, randomUUID())).toMatchObject({
      status: "exceeded",
      used: 5,
      cap: 5,
    });
  });
});

describe("Settle", () => {
  test("counts a done turn once when it is settled repeatedly in different batches", async () => {
    const workspace = await createWorkspace(quota, 100);
    const turns = Array.from({ length: 40 }, () => randomUUID());
    for (const turn of turns) await reserve(quota.database, workspace, turn);
    const batch = turns.map((turn) => settlement(workspace, turn, "done", thisMonth));
    const rotatedBatches = Array.from({ length: 12 }, (_, i) => [
      ...batch.slice(i * 3),
      ...batch.slice(0, i * 3),
      ...batch.slice(0, 5),
    ]);
    await Promise.all(rotatedBatches.map((each) => settle(quota.database, each)));
    const results = await settle(quota.database, batch);
    expect(results).toHaveLength(40);
    for (const result of results) expect(result.outcome).toBe("done");
    expect(await usageOf(quota, workspace)).toEqual({
      usedCounter: 40,
      heldCounter: 0,
      ledgerRows: 40,
      doneReservations: 40,
      heldReservations: 0,
    });
  });

  test("releases the hold of a void turn, so that another turn can take the message", async () => {
    const workspace = await createWorkspace(quota, 1);
    const turn = randomUUID();
    await reserve(quota.database, workspace, turn);
    await settle(quota.database, [settlement(workspace, turn, "void")]);
    expect(await usageOf(quota, workspace)).toEqual({
      usedCounter: 0,
      heldCounter: 0,
      ledgerRows: 0,
      doneReservations: 0,
      heldReservations: 0,
    });
    expect(await reserve(quota.database, workspace, randomUUID())).toMatchObject({ status: "held" });
  });

  test("keeps the first outcome of a turn", async () => {
    const workspace = await createWorkspace(quota, 10);
    const [counted, voided] = [randomUUID(), randomUUID()];
    for (const turn of [counted, voided]) await reserve(quota.database, workspace, turn);
    await settle(quota.database, [
      settlement(workspace, counted, "done", thisMonth),
      settlement(workspace, voided, "void"),
    ]);
    const second = await settle(quota.database, [
      settlement(workspace, counted, "void"),
      settlement(workspace, voided, "done", thisMonth),
    ]);
    expect(new Map(second.map((each) => [each.turnId, each.outcome]))).toEqual(
      new Map([
        [counted, "done"],
        [voided, "void"],
      ]),
    );
    expect(await usageOf(quota, workspace)).toMatchObject({ usedCounter: 1, heldCounter: 0, ledgerRows: 1 });
  });

  test("prevents a later Reserve from holding a message for a turn that was settled as void", async () => {
    const workspace = await createWorkspace(quota, 10);
    const turn = randomUUID();
    await settle(quota.database, [settlement(workspace, turn, "void")]);
    expect(await reserve(quota.database, workspace, turn)).toMatchObject({ status: "settled" });
    expect(await usageOf(quota, workspace)).toMatchObject({ usedCounter: 0, heldCounter: 0, heldReservations: 0 });
  });

  test("if a done turn has no hold, counts it in the month that the caller sends", async () => {
    const workspace = await createWorkspace(quota, 10);
    const turn = randomUUID();
    for (let i = 0; i < 2; i++) await settle(quota.database, [settlement(workspace, turn, "done", "2026-03")]);
    expect(await readUsage(quota.database, workspace, "2026-03")).toMatchObject({ used: 1, held: 0, month: "2026-03" });
    expect(await readMonth(quota.database, workspace, "2026-03")).toMatchObject([
      { workspaceId: workspace, used: 1, held: 0, ledger: 1 },
    ]);
  });

  test("counts a held turn in the month of its hold, not in the month that the caller sends", async () => {
    const workspace = await createWorkspace(quota, 10);
    const turn = randomUUID();
    await reserve(quota.database, workspace, turn);
    await quota.admin.query("UPDATE quota.reservations SET month = '2026-01-01' WHERE turn_id = $1", [turn]);
    await quota.admin.query("UPDATE quota.usage SET month = '2026-01-01' WHERE workspace_id = $1", [workspace]);
    await settle(quota.database, [settlement(workspace, turn, "done", "2026-02")]);
    expect(await readUsage(quota.database, workspace, "2026-01")).toMatchObject({ used: 1, held: 0 });
    expect(await readUsage(quota.database, workspace, "2026-02")).toMatchObject({ used: 0, held: 0 });
  });

  test("keeps usage, holds and usage ledger consistent under concurrent Reserve and Settle calls for the same turns", async () => {
    const workspaces = await Promise.all(Array.from({ length: 4 }, () => createWorkspace(quota, 1_000)));
    const turns = Array.from({ length: 200 }, (_, i) => ({ workspace: workspaces[i % 4] ?? "", turn: randomUUID() }));
    const calls = turns.flatMap(({ workspace, turn }, i) => {
      const own = settlement(workspace, turn, i % 3 === 0 ? "void" : "done", thisMonth);
      const other = turns[(i + 7) % turns.length];
      const otherSettlement = settlement(other?.workspace ?? "", other?.turn ?? "", "void");
      return [
        () => reserve(quota.database, workspace, turn),
        () => settle(quota.database, [own, otherSettlement]),
        () => reserve(quota.database, workspace, turn),
        () => settle(quota.database, [otherSettlement, own]),
      ];
    });
    await Promise.all(calls.map((call) => call()));
    for (const workspace of workspaces) {
      const usage = await usageOf(quota, workspace);
      expect(usage.usedCounter).toBe(usage.doneReservations);
      expect(usage.ledgerRows).toBe(usage.doneReservations);
      expect(usage).toMatchObject({ heldCounter: 0, heldReservations: 0 });
    }
  });
});

test("concurrent Reserve and Settle calls for the same turns do not deadlock", async () => {
  const workspace = await createWorkspace(quota, 100_000);
  await reserve(quota.database, workspace, randomUUID());
  const failures: (string | undefined)[] = [];
  const database = new Proxy(quota.database, {
    get(target, name) {
      if (name !== "query") return Reflect.get(target, name, target);
      return async (...parameters: unknown[]) => {
        try {
          return await Reflect.apply(target.query, target, parameters);
        } catch (error) {
          failures.push(sqlState(error));
          throw error;
        }
      };
    },
  });
  for (let round = 0; round < 30; round++) {
    const turns = Array.from({ length: 12 }, () => randomUUID());
    const batch = turns.map((turn) => settlement(workspace, turn, "void"));
    await Promise.all([
      ...turns.map((turn) => reserve(database, workspace, turn)),
      settle(database, batch),
      settle(database, batch.toReversed()),
    ]);
    await settle(database, batch);
  }
  expect(await usageOf(quota, workspace)).toMatchObject({ usedCounter: 0, heldCounter: 1, heldReservations: 1 });
  expect(failures).not.toContain("40P01");
});

describe("with a locked usage row", () => {
  /** Locks the usage row of a workspace that has a hold. Returns the workspace and a function that releases the lock. */
  async function createLockedWorkspace() {
    const workspaceId = await createWorkspace(quota, 1_000);
    const turnId = randomUUID();
    await reserve(quota.database, workspaceId, turnId);
    const locker = await quota.admin.connect();
    await locker.query("BEGIN");
    await locker.query("SELECT FROM quota.usage WHERE workspace_id = $1 FOR UPDATE", [workspaceId]);
    const unlock = async () => {
      await locker.query("ROLLBACK");
      locker.release();
    };
    return { workspaceId, turnId, unlock };
  }

  test("Reserve waits longer than the lock timeout until the row is free", async () => {
    const { workspaceId, unlock } = await createLockedWorkspace();
    const pending = reserve(quota.database, workspaceId, randomUUID());
    await sleep(2_500);
    await unlock();
    expect(await pending).toMatchObject({ status: "held" });
  });

  test("Reserve stops waiting when its caller cancels", async () => {
    const { workspaceId, unlock } = await createLockedWorkspace();
    const caller = new AbortController();
    const pending = reserve(quota.database, workspaceId, randomUUID(), { signal: caller.signal });
    caller.abort(new Error("cancelled"));
    await expect(pending).rejects.toThrow("cancelled");
    await unlock();
    expect(await usageOf(quota, workspaceId)).toMatchObject({ heldCounter: 1, heldReservations: 1 });
  });

  test("Settle settles the turns of the unlocked workspaces, and the locked workspace's turn when the batch is sent again after the unlock", async () => {
    const { workspaceId, turnId, unlock } = await createLockedWorkspace();
    const others = await Promise.all(Array.from({ length: 30 }, () => createWorkspace(quota, 10)));
    const batch = [workspaceId, ...others].map((id) =>
      settlement(id, id === workspaceId ? turnId : randomUUID(), "done"),
    );
    const failures: string[] = [];
    const onFailure = (turns: readonly Settlement[]) => failures.push(...turns.map((turn) => turn.workspaceId));
    const settled = await settle(quota.database, batch, { onFailure });
    expect(new Set(settled.map((turn) => turn.workspaceId))).toEqual(new Set(others));
    expect(failures).toEqual([workspaceId]);
    await unlock();
    expect(await settle(quota.database, batch)).toHaveLength(31);
    expect(await usageOf(quota, workspaceId)).toMatchObject({ usedCounter: 1, heldCounter: 0, ledgerRows: 1 });
  });
});

test("Settle settles the other turns of the batch when PostgreSQL refuses one", async () => {
  const workspace = await createWorkspace(quota, 100);
  const broken = await createWorkspace(quota, 100);
  const brokenTurn = randomUUID();
  await reserve(quota.database, broken, brokenTurn);
  // The usage row no longer counts the hold, so releasing the hold violates the constraint held >= 0.
  await quota.admin.query("UPDATE quota.usage SET held = 0 WHERE workspace_id = $1", [broken]);
  const turns = Array.from({ length: 20 }, () => randomUUID());
  const batch = [...turns.map((turn) => settlement(workspace, turn, "done")), settlement(broken, brokenTurn, "done")];
  const failures: string[] = [];
  const settled = await settle(quota.database, batch, {
    onFailure: (refused) => failures.push(...refused.map((turn) => turn.turnId)),
  });
  expect(new Set(settled.map((turn) => turn.turnId))).toEqual(new Set(turns));
  expect(failures).toEqual([brokenTurn]);
  expect(await usageOf(quota, workspace)).toMatchObject({ usedCounter: 20, ledgerRows: 20 });
});

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase, usageOf } from "../testing/quota-database.ts";
import { reserve } from "../usage/reservations.store.ts";
import { type Settlement, settle } from "../usage/settlements.store.ts";
import { readUsage } from "../usage/usage.store.ts";
import { updatePlan } from "../workspaces/workspaces.store.ts";
import { correctUnpaid, listUnpaid, readUnpaidToday, resetUnpaid } from "./unpaid.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

/** Reserves `count` messages and settles them as unpaid. Returns the status of the last Reserve. */
async function leaveUnpaid(workspaceId: string, count: number): Promise<string | undefined> {
  let status: string | undefined;
  for (let i = 0; i < count; i++) {
    const turnId = randomUUID();
    const result = await reserve(quota.database, workspaceId, turnId);
    status = result?.status;
    if (result?.status !== "held") break;
    const unpaid: Settlement = { workspaceId, turnId, outcome: "void", month: result.month, unpaidDay: result.day };
    await settle(quota.database, [unpaid]);
  }
  return status;
}

const unpaidOf = async (workspaceId: string) => {
  const { unpaid, unpaidLimit } = (await readUsage(quota.database, workspaceId)) ?? {};
  return { unpaid, unpaidLimit };
};
const today = async () => (await listUnpaid(quota.database, { workspaceId: "-", after: "", limit: 1 })).day;

test("refuses turns after 50 unpaid replies of a day, below the cap, and counts nothing as used", async () => {
  const workspace = await createWorkspace(quota, 100);
  expect(await leaveUnpaid(workspace, 50)).toBe("held");
  expect(await leaveUnpaid(workspace, 1)).toBe("unpaid_limit");
  expect(await unpaidOf(workspace)).toEqual({ unpaid: 50, unpaidLimit: 50 });
  expect(await usageOf(quota, workspace)).toMatchObject({ usedCounter: 0, heldCounter: 0, ledgerRows: 0 });
});

test.each([
  [100, 50],
  [1_000, 50],
  [1_020, 51],
  [25_000, 1_250],
])("with a cap of %i the limit is %i", async (cap, limit) => {
  expect(await unpaidOf(await createWorkspace(quota, cap))).toEqual({ unpaid: 0, unpaidLimit: limit });
});

test("a plan's own limit replaces the default", async () => {
  const workspace = await createWorkspace(quota, 100);
  await quota.admin.query(
    "INSERT INTO quota.plans (plan, monthly_cap, unpaid_per_day) VALUES ('strict', 100, 3) ON CONFLICT DO NOTHING",
  );
  await updatePlan(quota.database, workspace, "strict");
  expect(await leaveUnpaid(workspace, 10)).toBe("unpaid_limit");
  expect(await unpaidOf(workspace)).toEqual({ unpaid: 3, unpaidLimit: 3 });
});

test("at the cap the turn is refused as exceeded, also above the limit of unpaid replies", async () => {
  const workspace = await createWorkspace(quota, 51);
  await leaveUnpaid(workspace, 50);
  await quota.admin.query("UPDATE quota.usage SET used = 51 WHERE workspace_id = $1", [workspace]);
  expect(await leaveUnpaid(workspace, 1)).toBe("exceeded");
});

test("counts a reply once, however often it is settled, and not if quota stored it as done", async () => {
  const workspace = await createWorkspace(quota, 100);
  const [unpaid, done] = [randomUUID(), randomUUID()];
  for (const turn of [unpaid, done]) await reserve(quota.database, workspace, turn);
  const day = await today();
  const settlement = (turnId: string, outcome: "done" | "void"): Settlement => ({
    ...{
      workspaceId: workspace,
      turnId,
      outcome,
      month: day.slice(0, 7),
      unpaidDay: outcome === "void" ? day : undefined,
    },
  });
  await settle(quota.database, [settlement(done, "done")]);
  await Promise.all(
    Array.from({ length: 8 }, () => settle(quota.database, [settlement(unpaid, "void"), settlement(done, "void")])),
  );
  expect(await unpaidOf(workspace)).toMatchObject({ unpaid: 1 });
  expect(await usageOf(quota, workspace)).toMatchObject({ usedCounter: 1, heldCounter: 0 });
  // After a restore, quota does not know the turn.
  await settle(quota.database, [settlement(randomUUID(), "void")]);
  expect(await unpaidOf(workspace)).toMatchObject({ unpaid: 2 });
});

test("a new day starts at 0, and a late settlement of the day before does not count", async () => {
  const workspace = await createWorkspace(quota, 100);
  await quota.admin.query(
    "INSERT INTO quota.usage (workspace_id, month, unpaid_day, unpaid, unpaid_reset) VALUES ($1, '2026-02-01', '2026-02-10', 40, 7)",
    [workspace],
  );
  const settleOn = (unpaidDay: string, count = 1) =>
    settle(
      quota.database,
      Array.from({ length: count }, () => ({
        workspaceId: workspace,
        turnId: randomUUID(),
        outcome: "void" as const,
        month: "2026-02",
        unpaidDay,
      })),
    );
  const row = async () => {
    const { rows } = await quota.admin.query(
      "SELECT to_char(unpaid_day, 'MM-DD') AS day, unpaid, unpaid_reset AS reset FROM quota.usage WHERE workspace_id = $1",
      [workspace],
    );
    return rows[0];
  };
  await settleOn("2026-02-10", 2);
  expect(await row()).toEqual({ day: "02-10", unpaid: 42, reset: 7 });
  await settleOn("2026-02-09");
  expect(await row()).toEqual({ day: "02-10", unpaid: 42, reset: 7 });
  await settle(quota.database, [
    { workspaceId: workspace, turnId: randomUUID(), outcome: "void", month: "2026-02", unpaidDay: "2026-02-11" },
    { workspaceId: workspace, turnId: randomUUID(), outcome: "void", month: "2026-02", unpaidDay: "2026-02-10" },
    { workspaceId: workspace, turnId: randomUUID(), outcome: "done", month: "2026-02" },
  ]);
  expect(await row()).toEqual({ day: "02-11", unpaid: 1, reset: 0 });
  // The limit concerns the current day only, and usage of another day shows none.
  expect(await readUsage(quota.database, workspace, "2026-02")).toMatchObject({ unpaid: 0, used: 1 });
});

test("a reset lets the workspace use its whole limit again and keeps the count", async () => {
  const workspace = await createWorkspace(quota, 1_000);
  await leaveUnpaid(workspace, 50);
  await resetUnpaid(quota.database, workspace);
  expect(await unpaidOf(workspace)).toMatchObject({ unpaid: 0 });
  expect(await leaveUnpaid(workspace, 50)).toBe("held");
  expect(await leaveUnpaid(workspace, 1)).toBe("unpaid_limit");
  const { workspaces } = await listUnpaid(quota.database, { workspaceId: workspace, after: "", limit: 10 });
  expect(workspaces).toEqual([{ workspaceId: workspace, unpaid: 100 }]);
});

test("a correction applies only to today's number, and only if it is still the expected one", async () => {
  const workspace = await createWorkspace(quota, 1_000);
  await leaveUnpaid(workspace, 5);
  const day = await today();
  const correct = (expected: number, unpaid: number, of = day) =>
    correctUnpaid(quota.database, { workspaceId: workspace, day: of, expected, unpaid });
  expect(await correct(4, 9)).toBe(false);
  expect(await correct(5, 9, "2026-01-01")).toBe(false);
  expect(await correct(5, 3)).toBe(true);
  expect(await correct(5, 3)).toBe(false);
  expect(await unpaidOf(workspace)).toMatchObject({ unpaid: 3 });
  await resetUnpaid(quota.database, workspace);
  expect(await correct(3, 2)).toBe(true);
  expect(await unpaidOf(workspace)).toMatchObject({ unpaid: 0 });
  // A restored database may lack the usage row.
  const restored = await createWorkspace(quota, 1_000);
  expect(await correctUnpaid(quota.database, { workspaceId: restored, day, expected: 0, unpaid: 7 })).toBe(true);
  expect(await unpaidOf(restored)).toMatchObject({ unpaid: 7 });
  expect(await correctUnpaid(quota.database, { workspaceId: "unknown", day, expected: 0, unpaid: 7 })).toBe(false);
});

test("lists the workspaces of a day in pages", async () => {
  const workspaces = await Promise.all(Array.from({ length: 3 }, () => createWorkspace(quota, 100)));
  for (const workspace of workspaces) await leaveUnpaid(workspace, 1);
  const all = await listUnpaid(quota.database, { workspaceId: "", after: "", limit: 1_000 });
  const listed: string[] = [];
  let after = "";
  for (;;) {
    const page = await listUnpaid(quota.database, { workspaceId: "", after, limit: 2 });
    listed.push(...page.workspaces.map((each) => each.workspaceId));
    if (page.workspaces.length < 2) break;
    after = listed.at(-1) ?? "";
  }
  expect(listed).toEqual(all.workspaces.map((each) => each.workspaceId));
  expect(listed).toEqual(expect.arrayContaining(workspaces));
});

test("sums the unpaid replies by plan, and lists the workspaces near their limit", async () => {
  const workspace = await createWorkspace(quota, 101);
  await leaveUnpaid(workspace, 39);
  const read = async () => {
    const { plans, nearWorkspaces } = await readUnpaidToday(quota.database, { share: 0.8, limit: 100 });
    const unpaid = plans.find(({ plan }) => plan === "cap-101")?.unpaid;
    return { unpaid, ratio: nearWorkspaces.find(({ workspaceId }) => workspaceId === workspace)?.ratio };
  };
  expect(await read()).toEqual({ unpaid: 39, ratio: undefined });
  await leaveUnpaid(workspace, 11);
  expect(await read()).toEqual({ unpaid: 50, ratio: 1 });
  await resetUnpaid(quota.database, workspace);
  expect(await read()).toEqual({ unpaid: 50, ratio: undefined });
});

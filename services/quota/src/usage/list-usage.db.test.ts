import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase } from "../testing/quota-database.ts";
import { updatePlan } from "../workspaces/workspaces.store.ts";
import { listNearestCap, listUsage } from "./list-usage.store.ts";
import { reserve } from "./reservations.store.ts";
import { settle } from "./settlements.store.ts";
import { currentMonth, readUsage } from "./usage.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

/** Settles `done` turns of a workspace as done, and leaves `held` more turns reserved. */
async function addUsage(workspaceId: string, done: number, held = 0): Promise<void> {
  for (let turn = 0; turn < done + held; turn++) {
    const turnId = randomUUID();
    await reserve(quota.database, workspaceId, turnId);
    if (turn < done) await settle(quota.database, [{ workspaceId, turnId, outcome: "done", month: undefined }]);
  }
}

test("listUsage lists every workspace once across the pages, including workspaces without usage", async () => {
  const ids = await Promise.all(Array.from({ length: 7 }, () => createWorkspace(quota, 10)));
  const [first = ""] = ids;
  await addUsage(first, 2, 1);
  const month = await currentMonth(quota.database);
  const listed = [];
  for (let after = ""; ; ) {
    const page = await listUsage(quota.database, month, { after, limit: 3 });
    listed.push(...page);
    if (page.length < 3) break;
    after = page.at(-1)?.workspaceId ?? "";
  }
  expect(listed).toHaveLength(ids.length);
  expect(new Set(listed.map(({ workspaceId }) => workspaceId))).toEqual(new Set(ids));
  const usage = { plan: "cap-10", cap: 10, used: 2, held: 1, adjusted: 0, creditUsed: 0, overageUsed: 0 };
  expect(listed.find(({ workspaceId }) => workspaceId === first)).toEqual({
    workspaceId: first,
    name: first,
    ...usage,
  });
  const before = await listUsage(quota.database, "2020-01", { after: "", limit: 100 });
  expect(before.map(({ used, held }) => used + held)).toEqual(ids.map(() => 0));
});

test("a month keeps the plan that was current at its end, even if the plan changes later", async () => {
  const workspace = await createWorkspace(quota, 10);
  await Promise.all([createWorkspace(quota, 20), createWorkspace(quota, 30)]);
  for (const [plan, changedAt] of [
    ["cap-20", "2026-03-15T12:00:00Z"],
    ["cap-30", "2026-05-01T00:00:00Z"],
  ]) {
    expect(await updatePlan(quota.database, workspace, plan ?? "")).toBe(true);
    await quota.admin.query("UPDATE quota.plan_changes SET changed_at = $2 WHERE workspace_id = $1 AND plan = $3", [
      workspace,
      changedAt,
      plan,
    ]);
  }
  // The same plan again is not a change.
  expect(await updatePlan(quota.database, workspace, "cap-30")).toBe(true);
  expect(await updatePlan(quota.database, "unknown", "cap-30")).toBe(false);
  const planOf = async (month: string) => {
    const listed = await listUsage(quota.database, month, { after: "", limit: 100 });
    const { plan, cap } = listed.find(({ workspaceId }) => workspaceId === workspace) ?? {};
    expect(await readUsage(quota.database, workspace, month)).toMatchObject({ plan, cap });
    return `${plan} ${cap}`;
  };
  const months = ["2026-02", "2026-03", "2026-04", "2026-05", await currentMonth(quota.database)];
  expect(await Promise.all(months.map(planOf))).toEqual([
    "cap-10 10",
    "cap-20 20",
    "cap-20 20",
    "cap-30 30",
    "cap-30 30",
  ]);
  const { rows } = await quota.admin.query(
    "SELECT previous_plan, plan FROM quota.plan_changes WHERE workspace_id = $1 ORDER BY changed_at",
    [workspace],
  );
  expect(rows).toEqual([
    { previous_plan: "cap-10", plan: "cap-20" },
    { previous_plan: "cap-20", plan: "cap-30" },
  ]);
});

test("listNearestCap sorts by the used share of the cap, counts holds, and leaves out idle workspaces and caps of 0", async () => {
  const [half, full, idle, off] = await Promise.all([4, 2, 100, 0].map((cap) => createWorkspace(quota, cap)));
  await addUsage(half ?? "", 2);
  await addUsage(full ?? "", 1, 1);
  await addUsage(off ?? "", 1);
  const nearest = await listNearestCap(quota.database, 2);
  expect(nearest.map(({ workspaceId, used, held }) => [workspaceId, used, held])).toEqual([
    [full, 1, 1],
    [half, 2, 0],
  ]);
  const all = (await listNearestCap(quota.database, 100)).map(({ workspaceId }) => workspaceId);
  expect(all).not.toContain(idle);
  expect(all).not.toContain(off);
});

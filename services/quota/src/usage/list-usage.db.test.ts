import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase } from "../testing/quota-database.ts";
import { listNearestCap, listUsage } from "./list-usage.store.ts";
import { reserve, settle } from "./reservations.store.ts";
import { currentMonth } from "./usage.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

/** Counts `done` messages for a workspace and holds `held` more. */
async function addUsage(workspaceId: string, done: number, held = 0): Promise<void> {
  for (let turn = 0; turn < done + held; turn++) {
    const turnId = randomUUID();
    await reserve(quota.database, workspaceId, turnId);
    if (turn < done) await settle(quota.database, [{ workspaceId, turnId, outcome: "done", month: undefined }]);
  }
}

test("lists every workspace once across the pages, including those without usage", async () => {
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
  expect(listed.find(({ workspaceId }) => workspaceId === first)).toEqual({
    ...{ workspaceId: first, name: first, plan: "cap-10", cap: 10, used: 2, held: 1 },
  });
  const before = await listUsage(quota.database, "2020-01", { after: "", limit: 100 });
  expect(before.map(({ used, held }) => used + held)).toEqual(ids.map(() => 0));
});

test("lists the largest share of a cap first, counts holds, and leaves out idle workspaces and caps of 0", async () => {
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

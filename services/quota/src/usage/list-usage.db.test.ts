import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestBooks, createWorkspace, type TestBooks } from "../testing/quota-database.ts";
import { listNearestCap, listUsage } from "./list-usage.store.ts";
import { reserve, settle } from "./reservations.store.ts";
import { currentMonth } from "./usage.store.ts";

let books: TestBooks;
beforeAll(async () => {
  books = await createTestBooks();
});
afterAll(() => books.drop());

/** Uses `done` messages of a workspace and holds `held` more. */
async function use(workspaceId: string, done: number, held = 0): Promise<void> {
  for (let turn = 0; turn < done + held; turn++) {
    const turnId = randomUUID();
    await reserve(books.database, workspaceId, turnId);
    if (turn < done) await settle(books.database, [{ workspaceId, turnId, outcome: "done", month: undefined }]);
  }
}

test("every workspace is listed once over the pages, those that used nothing too", async () => {
  const ids = await Promise.all(Array.from({ length: 7 }, () => createWorkspace(books, 10)));
  const [first = ""] = ids;
  await use(first, 2, 1);
  const month = await currentMonth(books.database);
  const listed = [];
  for (let after = ""; ; ) {
    const page = await listUsage(books.database, month, { after, limit: 3 });
    listed.push(...page);
    if (page.length < 3) break;
    after = page.at(-1)?.workspaceId ?? "";
  }
  expect(listed).toHaveLength(ids.length);
  expect(new Set(listed.map(({ workspaceId }) => workspaceId))).toEqual(new Set(ids));
  expect(listed.find(({ workspaceId }) => workspaceId === first)).toEqual({
    ...{ workspaceId: first, name: first, plan: "cap-10", cap: 10, used: 2, held: 1 },
  });
  const before = await listUsage(books.database, "2020-01", { after: "", limit: 100 });
  expect(before.map(({ used, held }) => used + held)).toEqual(ids.map(() => 0));
});

test("the nearest to its cap comes first, holds counted, whatever the size; a cap of nothing is left out", async () => {
  const [half, full, idle, off] = await Promise.all([4, 2, 100, 0].map((cap) => createWorkspace(books, cap)));
  await use(half ?? "", 2);
  await use(full ?? "", 1, 1);
  await use(off ?? "", 1);
  const nearest = await listNearestCap(books.database, 2);
  expect(nearest.map(({ workspaceId, used, held }) => [workspaceId, used, held])).toEqual([
    [full, 1, 1],
    [half, 2, 0],
  ]);
  const all = (await listNearestCap(books.database, 100)).map(({ workspaceId }) => workspaceId);
  expect(all).not.toContain(idle);
  expect(all).not.toContain(off);
});

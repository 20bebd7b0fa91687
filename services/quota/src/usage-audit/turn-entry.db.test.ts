import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase } from "../testing/quota-database.ts";
import { reserve } from "../usage/reservations.store.ts";
import { settle } from "../usage/settlements.store.ts";
import { readTurnEntry } from "./turn-entry.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

test("returns the times of a turn's hold, settlement and ledger entry, and nothing for another workspace", async () => {
  const workspaceId = await createWorkspace(quota, 2);
  const turnId = randomUUID();
  const readEntry = () => readTurnEntry(quota.database, workspaceId, turnId);
  expect(await readEntry()).toBeUndefined();
  await reserve(quota.database, workspaceId, turnId);
  expect(await readEntry()).toMatchObject({
    state: "held",
    heldAt: expect.any(Date),
    settledAt: null,
    countedAt: null,
  });
  await settle(quota.database, [{ workspaceId, turnId, outcome: "done", month: undefined }]);
  const settled = await readEntry();
  expect(settled).toMatchObject({ state: "done", settledAt: expect.any(Date), countedAt: expect.any(Date) });
  // A second settlement changes neither the outcome nor the time.
  await settle(quota.database, [{ workspaceId, turnId, outcome: "void", month: undefined }]);
  expect(await readEntry()).toEqual(settled);
  expect(await readTurnEntry(quota.database, await createWorkspace(quota, 2), turnId)).toBeUndefined();
});

test("returns no hold time for a turn that was settled after a refused Reserve", async () => {
  const workspaceId = await createWorkspace(quota, 0);
  const turnId = randomUUID();
  await reserve(quota.database, workspaceId, turnId);
  await settle(quota.database, [{ workspaceId, turnId, outcome: "void", month: undefined }]);
  expect(await readTurnEntry(quota.database, workspaceId, turnId)).toMatchObject({
    state: "void",
    heldAt: null,
    settledAt: expect.any(Date),
    countedAt: null,
  });
});

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestBooks, createWorkspace, type TestBooks } from "../testing/quota-database.ts";
import { reserve, settle } from "../usage/reservations.store.ts";
import { readTurnEntry } from "./turn-entry.store.ts";

let books: TestBooks;
beforeAll(async () => {
  books = await createTestBooks();
});
afterAll(() => books.drop());

test("a turn's entry tells its hold, its settling and its line in the ledger, and nothing of another workspace's", async () => {
  const workspaceId = await createWorkspace(books, 2);
  const turnId = randomUUID();
  const entry = () => readTurnEntry(books.database, workspaceId, turnId);
  expect(await entry()).toBeUndefined();
  await reserve(books.database, workspaceId, turnId);
  expect(await entry()).toMatchObject({ state: "held", heldAt: expect.any(Date), settledAt: null, countedAt: null });
  await settle(books.database, [{ workspaceId, turnId, outcome: "done", month: undefined }]);
  const settled = await entry();
  expect(settled).toMatchObject({ state: "done", settledAt: expect.any(Date), countedAt: expect.any(Date) });
  // The first outcome stands, and so does its time.
  await settle(books.database, [{ workspaceId, turnId, outcome: "void", month: undefined }]);
  expect(await entry()).toEqual(settled);
  expect(await readTurnEntry(books.database, await createWorkspace(books, 2), turnId)).toBeUndefined();
});

test("a turn that was settled without ever having held a message has no hold to tell of", async () => {
  const workspaceId = await createWorkspace(books, 0);
  const turnId = randomUUID();
  await reserve(books.database, workspaceId, turnId);
  await settle(books.database, [{ workspaceId, turnId, outcome: "void", month: undefined }]);
  expect(await readTurnEntry(books.database, workspaceId, turnId)).toMatchObject({
    state: "void",
    heldAt: null,
    settledAt: expect.any(Date),
    countedAt: null,
  });
});

import { randomUUID } from "node:crypto";
import { migrate, rollback } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { booksOf, createTestBooks, createWorkspace, ROLE, type TestBooks } from "../src/testing/quota-database.ts";
import { reserve, settle } from "../src/usage/reservations.store.ts";
import { migrations } from "./index.ts";

let books: TestBooks;
beforeAll(async () => {
  books = await createTestBooks();
});
afterAll(() => books.drop());

test("every migration can be taken back with rows in its tables, and applied again", async () => {
  const workspace = await createWorkspace(books, 10);
  const turn = randomUUID();
  await reserve(books.database, workspace, turn);
  await settle(books.database, [{ workspaceId: workspace, turnId: turn, outcome: "done", month: undefined }]);
  const target = { url: books.adminUrl, schema: "quota", role: ROLE, migrations };
  expect(await rollback(target, migrations.length)).toHaveLength(migrations.length);
  expect((await migrate(target)).applied).toHaveLength(migrations.length);
  const again = await createWorkspace(books, 10);
  await reserve(books.database, again, randomUUID());
  expect(await booksOf(books, again)).toMatchObject({ held: 1 });
});

test("two migrators at once apply each migration once", async () => {
  const target = { url: books.adminUrl, schema: "quota", role: ROLE, migrations };
  await rollback(target, migrations.length);
  const results = await Promise.all([migrate(target), migrate(target), migrate(target)]);
  expect(results.flatMap(({ applied }) => applied)).toEqual(migrations.map((each) => each.name));
});

test("a lock that a killed migrator left behind stops nobody", async () => {
  await books.admin.query("UPDATE quota.migrations_lock SET is_locked = 1");
  expect(await migrate({ url: books.adminUrl, schema: "quota", role: ROLE, migrations })).toEqual({ applied: [] });
});

import { randomUUID } from "node:crypto";
import { createLogger, Registry } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { holdGauges } from "./metrics.ts";
import { createTestBooks, createWorkspace, type TestBooks } from "./testing/quota-database.ts";
import { reserve, settle } from "./usage/reservations.store.ts";

let books: TestBooks;
beforeAll(async () => {
  books = await createTestBooks();
});
afterAll(() => books.drop());

const silent = createLogger("test", "silent");

async function scraped(registry: Registry) {
  const value = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
  return { count: await value("parley_holds"), oldest: await value("parley_holds_oldest_seconds") };
}

test("tells how many messages are held and for how long the oldest has been, until it is settled", async () => {
  const registry = new Registry();
  holdGauges(registry, books.database, silent);
  expect(await scraped(registry)).toEqual({ count: 0, oldest: 0 });

  const workspace = await createWorkspace(books, 10);
  const [forgotten, young] = [randomUUID(), randomUUID()];
  for (const turn of [forgotten, young]) await reserve(books.database, workspace, turn);
  await books.admin.query("UPDATE quota.reservations SET reserved_at = now() - interval '2 hours' WHERE turn_id = $1", [
    forgotten,
  ]);
  const { count, oldest = 0 } = await scraped(registry);
  expect(count).toBe(2);
  expect(oldest).toBeGreaterThan(7_199);
  expect(oldest).toBeLessThan(7_300);

  const void_ = (turnId: string) => ({ workspaceId: workspace, turnId, outcome: "void" as const, month: undefined });
  await settle(books.database, [void_(forgotten)]);
  expect((await scraped(registry)).oldest).toBeLessThan(100);
  await settle(books.database, [void_(young)]);
  expect(await scraped(registry)).toEqual({ count: 0, oldest: 0 });
});

test("is NaN while the database is away, and no error to whoever scrapes", async () => {
  const registry = new Registry();
  const lost = await createTestBooks();
  holdGauges(registry, lost.database, silent);
  await lost.drop();
  expect(await scraped(registry)).toEqual({ count: Number.NaN, oldest: Number.NaN });
});

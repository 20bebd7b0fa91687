import { createLogger, type Database } from "@parley/service-kit";
import { expect, test } from "vitest";
import { VisitorErasure } from "./erasures.worker.ts";

test("start() during a run causes another run, which lists the erasure requests again", async () => {
  const firstList = Promise.withResolvers<{ rows: [] }>();
  let lists = 0;
  const query = () => (++lists === 1 ? firstList.promise : Promise.resolve({ rows: [] }));
  const database = { query } as unknown as Database;
  const erasure = new VisitorErasure({ database, notifySettler: () => undefined, log: createLogger("test", "silent") });
  const running = erasure.run(new AbortController().signal);
  erasure.start();
  expect(lists).toBe(1);
  firstList.resolve({ rows: [] });
  await running;
  await expect.poll(() => lists, { timeout: 5_000 }).toBe(2);
});

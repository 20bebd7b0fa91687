import { createLogger, type Database } from "@parley/service-kit";
import { expect, test } from "vitest";
import { VisitorEraser } from "./erasures.worker.ts";

/** Creates an eraser. Its first query for erasure requests waits for `firstList`. `lists.count` counts the eraser's queries. */
function createEraser() {
  const firstList = Promise.withResolvers<{ rows: [] }>();
  const lists = { count: 0 };
  const query = () => (++lists.count === 1 ? firstList.promise : Promise.resolve({ rows: [] }));
  const closing = new AbortController();
  const eraser = new VisitorEraser({
    database: { query } as unknown as Database,
    notifySettler: () => undefined,
    closingSignal: closing.signal,
    log: createLogger("test", "silent"),
  });
  return { eraser, lists, firstList, closing };
}

test("start() during a run causes another run, which lists the erasure requests again", async () => {
  const { eraser, lists, firstList } = createEraser();
  const running = eraser.run();
  eraser.start();
  expect(lists.count).toBe(1);
  firstList.resolve({ rows: [] });
  await running;
  await expect.poll(() => lists.count, { timeout: 5_000 }).toBe(2);
});

test("after the process has started to stop, no run lists the erasure requests", async () => {
  const { eraser, lists, firstList, closing } = createEraser();
  const running = eraser.run();
  eraser.start();
  closing.abort();
  firstList.resolve({ rows: [] });
  await running;
  await eraser.run();
  expect(lists.count).toBe(1);
});

import { createLogger, type Database } from "@parley/service-kit";
import { expect, test } from "vitest";
import { VisitorEraser } from "./erasures.worker.ts";

/** Creates an eraser. Its first query for erasure requests waits for `firstResult`. `queries.count` counts the eraser's queries. */
function createEraser() {
  const firstResult = Promise.withResolvers<{ rows: [] }>();
  const queries = { count: 0 };
  const query = () => (++queries.count === 1 ? firstResult.promise : Promise.resolve({ rows: [] }));
  const closing = new AbortController();
  const eraser = new VisitorEraser({
    database: { query } as unknown as Database,
    notifySettler: () => undefined,
    closingSignal: closing.signal,
    log: createLogger("test", "silent"),
  });
  return { eraser, queries, firstResult, closing };
}

test("start() during a run causes another run, which lists the erasure requests again", async () => {
  const { eraser, queries, firstResult } = createEraser();
  const running = eraser.run();
  eraser.start();
  expect(queries.count).toBe(1);
  firstResult.resolve({ rows: [] });
  await running;
  await expect.poll(() => queries.count, { timeout: 5_000 }).toBe(2);
});

test("after the process has started to stop, no run lists the erasure requests", async () => {
  const { eraser, queries, firstResult, closing } = createEraser();
  const running = eraser.run();
  eraser.start();
  closing.abort();
  firstResult.resolve({ rows: [] });
  await running;
  await eraser.run();
  expect(queries.count).toBe(1);
});

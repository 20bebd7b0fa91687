import { type Database, singleShard } from "@parley/service-kit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CallLog } from "./call-log.worker.ts";
import type { CallRow } from "./calls.store.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Creates a call log whose writes call `write`. `add` adds rows to it. `counts` has the number of rows by result. */
function createCallLog(write: () => Promise<void>) {
  const database = {
    query: async () => {
      await write();
      return { rows: [] };
    },
  } as unknown as Database;
  const counts = new Map<string, number>();
  const callLogRows = {
    inc: ({ result }: { result: string }, count: number) => counts.set(result, (counts.get(result) ?? 0) + count),
  };
  const metrics = { callLogRows, callLogFailures: { inc: () => undefined } } as never;
  const callLog = new CallLog(
    singleShard(database),
    metrics,
    { warn: () => undefined } as never,
    { onClose: () => undefined } as never,
  );
  const add = (count: number) => {
    for (let row = 0; row < count; row++) callLog.add({ tries: [] } as unknown as CallRow);
  };
  return { counts, add };
}

test("counts as late every row that was in memory when a write failed, not only the rows of the failed batch", async () => {
  let isFailing: boolean = true;
  const { counts, add } = createCallLog(async () => {
    if (isFailing) throw new Error("the database is down");
  });
  add(2_500);
  await vi.advanceTimersByTimeAsync(200);
  isFailing = false;
  add(10);
  await vi.advanceTimersByTimeAsync(200);
  expect(Object.fromEntries(counts)).toMatchObject({ late: 2_500, stored: 10 });
});

test("counts the rows of a retried batch as late even if newer rows are dropped while the batch is written", async () => {
  const written = Promise.withResolvers<void>();
  const writes = [() => Promise.reject(new Error("the database is down")), () => written.promise];
  const { counts, add } = createCallLog(() => writes.shift()?.() ?? Promise.resolve());
  add(500);
  await vi.advanceTimersByTimeAsync(200);
  await vi.advanceTimersByTimeAsync(200);
  expect(writes).toEqual([]);
  add(20_300);
  written.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(Object.fromEntries(counts)).toEqual({ dropped: 300, late: 500, stored: 20_000 });
});

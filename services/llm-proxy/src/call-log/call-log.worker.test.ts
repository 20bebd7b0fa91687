import type { Database } from "@parley/service-kit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CallLog } from "./call-log.worker.ts";
import type { CallRow } from "./calls.store.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("counts each row that was in memory when a write failed as late, in every batch", async () => {
  let isFailing: boolean = true;
  const database = {
    query: async () => {
      if (isFailing) throw new Error("the database is down");
      return { rows: [] };
    },
  } as unknown as Database;
  const rows = new Map<string, number>();
  const callLogRows = {
    inc: ({ result }: { result: string }, count: number) => rows.set(result, (rows.get(result) ?? 0) + count),
  };
  const metrics = { callLogRows, callLogFailures: { inc: () => undefined } } as never;
  const callLog = new CallLog(
    database,
    metrics,
    { warn: () => undefined } as never,
    { onClose: () => undefined } as never,
  );
  for (let row = 0; row < 2_500; row++) callLog.add({ tries: [] } as unknown as CallRow);
  await vi.advanceTimersByTimeAsync(200);
  isFailing = false;
  for (let row = 0; row < 10; row++) callLog.add({ tries: [] } as unknown as CallRow);
  await vi.advanceTimersByTimeAsync(200);
  expect(Object.fromEntries(rows)).toMatchObject({ late: 2_500, stored: 10 });
});

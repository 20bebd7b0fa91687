import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sendInBatch } from "./batch.ts";

/** The number of calls of each batch that was sent. */
const batchSizes: number[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  batchSizes.length = 0;
  vi.stubGlobal("fetch", async (_path: string, { body }: { body: string }) => {
    const { calls } = JSON.parse(body) as { calls: unknown[] };
    batchSizes.push(calls.length);
    return Response.json({ responses: calls.map(() => ({ status: 200, body: {} })) });
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const send = (count: number) => Promise.all(Array.from({ length: count }, () => sendInBatch({ conversations: "" })));

test("collects calls for 5 ms, and sends at most 20 in a batch", async () => {
  const responses = send(21);
  await vi.advanceTimersByTimeAsync(5);
  expect(batchSizes).toEqual([20, 1]);
  expect(await responses).toHaveLength(21);
});

test("the timer of a full batch does not end the collection of the next one", async () => {
  const full = send(20);
  await vi.advanceTimersByTimeAsync(3);
  const first = send(1);
  await vi.advanceTimersByTimeAsync(3);
  const second = send(1);
  await vi.advanceTimersByTimeAsync(5);
  await Promise.all([full, first, second]);
  expect(batchSizes).toEqual([20, 2]);
});

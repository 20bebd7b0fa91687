import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { ExportPacer } from "./export-pacer.ts";

const READ_MS = 20;
const NEVER_ABORTED = new AbortController().signal;

/** Runs the statements of an export. Returns the longest pause between two of them. */
async function longestPauseMs(pacer: ExportPacer, statements: number): Promise<number> {
  const run = pacer.pace((statement) => statement(), NEVER_ABORTED);
  let [endedAt, longest] = [Number.NaN, 0];
  for (let n = 0; n < statements; n++)
    await run(async () => {
      if (n > 0) longest = Math.max(longest, performance.now() - endedAt);
      await sleep(READ_MS);
      endedAt = performance.now();
    });
  return longest;
}

test("an export pauses between its statements while turns run, longer the more exports there are", async () => {
  const pacer = new ExportPacer();
  // Without turns. The fastest of several, because a busy machine may pause the test.
  const pauses: number[] = [];
  for (let n = 0; n < 5; n++) pauses.push(await longestPauseMs(pacer, 2));
  expect(Math.min(...pauses)).toBeLessThan(READ_MS);
  pacer.recordTurn();
  expect(await longestPauseMs(pacer, 3)).toBeGreaterThan(8 * READ_MS);
  pacer.recordTurn();
  const three = await Promise.all([1, 2, 3].map(() => longestPauseMs(pacer, 3)));
  for (const pause of three) expect(pause).toBeGreaterThan(2 * 8 * READ_MS);
});

test("the first statement of an export never pauses", async () => {
  const pacer = new ExportPacer();
  await longestPauseMs(pacer, 3);
  pacer.recordTurn();
  const startedAt = performance.now();
  await pacer.pace((statement) => statement(), NEVER_ABORTED)(async () => undefined);
  expect(performance.now() - startedAt).toBeLessThan(READ_MS);
});

test("a failed statement leaves the pauses of other exports as they are", async () => {
  const pacer = new ExportPacer();
  const failing = pacer.pace((statement) => statement(), NEVER_ABORTED);
  for (let n = 0; n < 100; n++)
    await expect(failing(() => Promise.reject(new Error("lost connection")))).rejects.toThrow("lost connection");
  pacer.recordTurn();
  expect(await longestPauseMs(pacer, 2)).toBeLessThan(25 * READ_MS);
});

test("an aborted export ends its pause at once and no longer lengthens the pauses of other exports", async () => {
  const pacer = new ExportPacer();
  const client = new AbortController();
  const run = pacer.pace((statement) => statement(), client.signal);
  const read = () => sleep(READ_MS * 5);
  await run(read);
  pacer.recordTurn();
  const paused = [run(read), run(read), run(read), run(read)];
  const startedAt = performance.now();
  client.abort();
  const results = await Promise.allSettled(paused);
  expect(performance.now() - startedAt).toBeLessThan(READ_MS * 5);
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  expect(await longestPauseMs(pacer, 2)).toBeLessThan(25 * READ_MS);
});

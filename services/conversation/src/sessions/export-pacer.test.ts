import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { ExportPacer } from "./export-pacer.ts";

const STATEMENT_MS = 20;
/**
 * The pause before a statement ÷ the time of the previous statement of the same export, while no other export runs. If n exports run, the ratio is
 * n times this value.
 */
const PAUSE_RATIO = 9;
const NEVER_ABORTED = new AbortController().signal;

/** Returns the longest pause between two statements of an export. */
async function longestPauseMs(pacer: ExportPacer, statements: number): Promise<number> {
  const run = pacer.pace((statement) => statement(), NEVER_ABORTED);
  let [endedAt, longest] = [Number.NaN, 0];
  for (let n = 0; n < statements; n++)
    await run(async () => {
      if (n > 0) longest = Math.max(longest, performance.now() - endedAt);
      await sleep(STATEMENT_MS);
      endedAt = performance.now();
    });
  return longest;
}

/** Returns the smallest of several results, because a busy machine lengthens times. */
async function smallest(measure: () => Promise<number>): Promise<number> {
  const results: number[] = [];
  for (let n = 0; n < 5; n++) results.push(await measure());
  return Math.min(...results);
}

/** Runs pairs of statements while turns run. Returns the smallest ratio of the pause within a pair to the time of the pair's first statement. */
function smallestPauseRatio(pacer: ExportPacer): Promise<number> {
  return smallest(async () => {
    pacer.recordTurn();
    const run = pacer.pace((statement) => statement(), NEVER_ABORTED);
    let [startedAt, endedAt, pauseMs] = [Number.NaN, Number.NaN, Number.NaN];
    await run(async () => {
      startedAt = performance.now();
      await sleep(STATEMENT_MS);
      endedAt = performance.now();
    });
    await run(async () => {
      pauseMs = performance.now() - endedAt;
    });
    return pauseMs / (endedAt - startedAt);
  });
}

test("an export pauses between its statements while turns run, and longer if there are more exports", async () => {
  const pacer = new ExportPacer();
  // No turn runs yet.
  expect(await smallest(() => longestPauseMs(pacer, 2))).toBeLessThan(STATEMENT_MS);
  // The expected ratios are 9 for one export and 27 for three. The limits are lower, because timers are inexact and the three exports may not
  // overlap all the time.
  pacer.recordTurn();
  expect(await longestPauseMs(pacer, 3)).toBeGreaterThan(8 * STATEMENT_MS);
  pacer.recordTurn();
  const three = await Promise.all([1, 2, 3].map(() => longestPauseMs(pacer, 3)));
  for (const pause of three) expect(pause).toBeGreaterThan(2 * 8 * STATEMENT_MS);
});

test("an export does not pause before its first statement, even while turns run", async () => {
  const pacer = new ExportPacer();
  await longestPauseMs(pacer, 3);
  pacer.recordTurn();
  const firstStatement = async () => {
    const startedAt = performance.now();
    await pacer.pace((statement) => statement(), NEVER_ABORTED)(async () => undefined);
    return performance.now() - startedAt;
  };
  expect(await smallest(firstStatement)).toBeLessThan(STATEMENT_MS);
});

test("a failed statement does not lengthen the pauses of other exports", async () => {
  const pacer = new ExportPacer();
  const failing = pacer.pace((statement) => statement(), NEVER_ABORTED);
  for (let n = 0; n < 100; n++)
    await expect(failing(() => Promise.reject(new Error("lost connection")))).rejects.toThrow("lost connection");
  expect(await smallestPauseRatio(pacer)).toBeLessThan(2 * PAUSE_RATIO);
});

test("an aborted export ends its pause immediately and no longer lengthens the pauses of other exports", async () => {
  const pacer = new ExportPacer();
  const client = new AbortController();
  const run = pacer.pace((statement) => statement(), client.signal);
  const statement = () => sleep(5 * STATEMENT_MS);
  await run(statement);
  pacer.recordTurn();
  const paused = [run(statement), run(statement), run(statement), run(statement)];
  const startedAt = performance.now();
  client.abort();
  const results = await Promise.allSettled(paused);
  // Shorter than the shortest pause.
  expect(performance.now() - startedAt).toBeLessThan(PAUSE_RATIO * 5 * STATEMENT_MS);
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  expect(await smallestPauseRatio(pacer)).toBeLessThan(2 * PAUSE_RATIO);
});

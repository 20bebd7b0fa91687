import { expect, test, vi } from "vitest";
import { Lifecycle } from "./lifecycle.ts";
import { createLogger, type Logger } from "./logger.ts";
import { pause, runPeriodically } from "./periodic.ts";

const silent = createLogger("test", "silent");

test("runs a task immediately and after each pause until close, and logs a failed run and continues", async () => {
  const lifecycle = new Lifecycle(silent);
  const warn = vi.fn();
  let runs = 0;
  const run = async () => {
    runs++;
    if (runs === 2) throw new Error("once");
  };
  runPeriodically({ name: "count", intervalMs: () => 1, run }, { ...silent, warn } as unknown as Logger, lifecycle);
  await expect.poll(() => runs).toBeGreaterThan(3);
  expect(warn.mock.calls).toEqual([[{ task: "count", error: new Error("once") }, "task failed, retrying"]]);
  await lifecycle.close();
  const runsAtClose = runs;
  await pause(10, new AbortController().signal);
  expect(runs).toBe(runsAtClose);
});

test("close aborts the signal of a running task and waits until the task has ended", async () => {
  const lifecycle = new Lifecycle(silent);
  const events: string[] = [];
  const run = async (signal: AbortSignal) => {
    events.push("started");
    expect(await pause(60_000, signal)).toBe(false);
    events.push("ended");
  };
  runPeriodically({ name: "work", intervalMs: 60_000, run }, silent, lifecycle);
  await lifecycle.close();
  expect(events).toEqual(["started", "ended"]);
});

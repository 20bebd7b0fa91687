import { expect, test, vi } from "vitest";
import { Lifecycle } from "./lifecycle.ts";
import { createLogger, type Logger } from "./logger.ts";
import { pause, runPeriodically } from "./periodic.ts";

const silent = createLogger("test", "silent");

test("a task runs at once, again after each pause, and after a failure, which is logged", async () => {
  const lifecycle = new Lifecycle(silent);
  const warn = vi.fn();
  let runs = 0;
  const run = async () => {
    runs++;
    if (runs === 2) throw new Error("once");
  };
  runPeriodically({ name: "look", everyMs: () => 1, run }, { ...silent, warn } as unknown as Logger, lifecycle);
  await expect.poll(() => runs).toBeGreaterThan(3);
  expect(warn.mock.calls).toEqual([[{ error: new Error("once") }, "cannot look"]]);
  await lifecycle.close();
  const total = runs;
  await pause(10, new AbortController().signal);
  expect(runs).toBe(total);
});

test("closing tells a run that is under way, and waits for it", async () => {
  const lifecycle = new Lifecycle(silent);
  const events: string[] = [];
  const run = async (signal: AbortSignal) => {
    events.push("began");
    expect(await pause(60_000, signal)).toBe(false);
    events.push("ended");
  };
  runPeriodically({ name: "work", everyMs: 60_000, run }, silent, lifecycle);
  await lifecycle.close();
  expect(events).toEqual(["began", "ended"]);
});

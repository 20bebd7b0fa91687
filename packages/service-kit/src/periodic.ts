import { setTimeout as sleep } from "node:timers/promises";
import type { Lifecycle } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";

export type PeriodicTask = {
  /** For the log. */
  name: string;
  /** The pause between two runs. A function can vary it, so that replicas that started together do not run at the same time. */
  everyMs: number | (() => number);
  /** Runs the task once. The signal is aborted when the process stops. The run should then end early and leave its work to a later run. */
  run: (signal: AbortSignal) => Promise<unknown>;
};

/** Runs a task at once, and again after each pause, until the process stops. Logs a failed run and continues. */
export function runPeriodically({ name, everyMs, run }: PeriodicTask, log: Logger, lifecycle: Lifecycle): void {
  const stop = new AbortController();
  const running = (async () => {
    while (!stop.signal.aborted) {
      try {
        await run(stop.signal);
      } catch (error) {
        log.warn({ task: name, error }, "task failed, retrying");
      }
      await pause(typeof everyMs === "number" ? everyMs : everyMs(), stop.signal);
    }
  })();
  lifecycle.onClose(name, async () => {
    stop.abort();
    await running;
  });
}

/** Waits for `ms`, or until the signal is aborted. Returns whether the whole time passed. */
export async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

import { setTimeout as sleep } from "node:timers/promises";
import type { Lifecycle } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";

export type PeriodicTask = {
  /** What it does, for the log: `cannot ${name}`. */
  name: string;
  /** From the end of one run to the start of the next; a function where replicas started together need not run together. */
  everyMs: number | (() => number);
  /** One run. The signal says that the process stops: what can wait for the next one, should. */
  run: (signal: AbortSignal) => Promise<unknown>;
};

/** Runs a task now and again and again until the process stops; a run that fails is logged, and the next one comes all the same. */
export function runPeriodically({ name, everyMs, run }: PeriodicTask, log: Logger, lifecycle: Lifecycle): void {
  const stop = new AbortController();
  const running = (async () => {
    while (!stop.signal.aborted) {
      try {
        await run(stop.signal);
      } catch (error) {
        log.warn({ error }, `cannot ${name}`);
      }
      await pause(typeof everyMs === "number" ? everyMs : everyMs(), stop.signal);
    }
  })();
  lifecycle.onClose(name, async () => {
    stop.abort();
    await running;
  });
}

/** Waits so long, or until the signal; answers whether it waited to the end. */
export async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

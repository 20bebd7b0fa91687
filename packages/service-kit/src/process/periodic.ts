import { setTimeout as sleep } from "node:timers/promises";
import type { Lifecycle } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";

export type PeriodicTask = {
  /** For the log. */
  name: string;
  /** The pause between two runs. A function can vary it, so that replicas that started together do not run at the same time. */
  intervalMs: number | (() => number);
  /** Runs the task once. When the process stops, the signal is aborted, and the run should end early. */
  run: (signal: AbortSignal) => Promise<unknown>;
};

/**
 * Runs a task immediately, and again after each pause, until the process stops. Logs a failed run and continues. When the process stops, the
 * runs of all tasks are aborted immediately. Start tasks before the gRPC server listens, because the lifecycle closes in reverse order: it first
 * closes the server, then waits for the aborted runs.
 */
export function runPeriodically(
  { name, intervalMs, run }: PeriodicTask,
  log: Pick<Logger, "warn">,
  lifecycle: Pick<Lifecycle, "onClose" | "closingSignal">,
): void {
  const { closingSignal } = lifecycle;
  const running = (async () => {
    while (!closingSignal.aborted) {
      try {
        await run(closingSignal);
      } catch (error) {
        log.warn({ task: name, error }, "task failed, retrying");
      }
      await pause(typeof intervalMs === "number" ? intervalMs : intervalMs(), closingSignal);
    }
  })();
  lifecycle.onClose(name, () => running);
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

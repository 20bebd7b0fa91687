import { setTimeout as sleep } from "node:timers/promises";
import type { Lifecycle } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";

export type PeriodicTask = {
  /** For the log. */
  name: string;
  /** The pause between two runs. A function can vary it, so that replicas that started together do not run at the same time. */
  intervalMs: number | (() => number);
  /** Runs the task once. The signal is aborted when the process stops. The run should then end early and leave its work to a later run. */
  run: (signal: AbortSignal) => Promise<unknown>;
};

/**
 * Runs a task immediately, and again after each pause, until the process stops. Logs a failed run and continues. When the process starts to
 * stop, the signals of all tasks are aborted together. The lifecycle then closes what was started, in reverse order. So start tasks before the
 * gRPC server listens: the server then drains its calls first, and the aborted runs end meanwhile.
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

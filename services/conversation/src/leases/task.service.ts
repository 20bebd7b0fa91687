import { randomUUID } from "node:crypto";
import type { Database } from "@parley/service-kit";
import { type ClaimedTask, claimLease, finishTask, type Progress, releaseLease, saveProgress } from "./leases.store.ts";

export type TaskOptions = {
  task: string;
  leaseSeconds: number;
  /** The pause after a run, before any replica starts the next one. */
  everySeconds: number;
};

export type TaskRun = ClaimedTask & {
  signal: AbortSignal;
  /** Saves the progress and renews the lease. If another replica has taken over the task, ends the run. */
  saveProgress: (progress: Progress) => Promise<void>;
};

class LeaseLost extends Error {}

/**
 * Returns a function that runs a task if it is due and no other replica runs it. Each replica calls the function periodically. `work` returns
 * whether the run is complete: then the pause begins. If `work` fails, any replica may try again immediately. When the signal is aborted, `work`
 * should throw the signal's reason, which the function does not rethrow.
 */
export function createTask(
  database: Database,
  { task, leaseSeconds, everySeconds }: TaskOptions,
  work: (run: TaskRun) => Promise<boolean>,
): (signal: AbortSignal) => Promise<void> {
  const lease = { task, holder: randomUUID(), leaseSeconds };
  const save = async (progress: Progress) => {
    if (!(await saveProgress(database, lease, progress))) throw new LeaseLost();
  };
  return async (signal) => {
    const claimed = await claimLease(database, lease, everySeconds);
    if (claimed === undefined) return;
    try {
      if (await work({ ...claimed, signal, saveProgress: save })) await finishTask(database, lease, everySeconds);
    } catch (error) {
      if (error instanceof LeaseLost) return;
      // If the release fails too, the lease expires.
      await releaseLease(database, lease).catch(() => undefined);
      if (!signal.aborted || error !== signal.reason) throw error;
    }
  };
}

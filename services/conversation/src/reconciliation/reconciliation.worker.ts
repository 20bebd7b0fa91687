import type { Database } from "@parley/service-kit";
import { createTask, readTask, type TaskRun } from "../leases/index.ts";
import {
  type Comparison,
  compareCountedTurns,
  compareDoneTurns,
  compareHolds,
  compareUnpaidReplies,
  type ReconcileDeps,
} from "./reconcile.service.ts";
import { readOldestDoneSeconds } from "./turns.store.ts";

export type ReconciliationSettings = {
  /** The time between the end of a run and the start of the next one, in any replica. */
  everySeconds: number;
  /** For how many days after its close a turn is compared repeatedly. */
  days: number;
  /** Younger turns and holds are not compared, because their settlement may still be in progress. */
  minAgeSeconds: number;
};

/** A comparison of all turns or holds of a time window, page by page. It may take several runs of its task. */
type Walk = {
  /** The walk's key in the stored progress. The value there is the time up to which the walk has compared turns or holds. */
  key: string;
  compare: Comparison;
  /** A run compares at most this many pages of up to 1,000 turns or holds. */
  maxPages: number;
  /** Whether the walk starts again after it has reached the end. Otherwise the next run continues there with newer turns. */
  isRepeated: boolean;
};

/** 100,000 turns per run: more than any tested installation closes between two runs. */
const NEW_PAGES = 100;
/**
 * 20,000 turns per run. A database that is restored to an earlier time lacks turns that were compared before, so the turns of the last
 * `days` days are compared repeatedly. With 20 million turns a month and a run every minute, seven days of turns take 4 hours.
 */
const REPEATED_PAGES = 20;

/** These walks find unsettled holds, done turns (complete replies) that quota did not count, and counted turns that are not done. */
const USAGE_WALKS: readonly Walk[] = [
  { key: "holds", compare: compareHolds, maxPages: REPEATED_PAGES, isRepeated: true },
  { key: "done", compare: compareDoneTurns, maxPages: NEW_PAGES, isRepeated: false },
  { key: "counted", compare: compareCountedTurns, maxPages: NEW_PAGES, isRepeated: false },
  { key: "done_again", compare: compareDoneTurns, maxPages: REPEATED_PAGES, isRepeated: true },
  { key: "counted_again", compare: compareCountedTurns, maxPages: REPEATED_PAGES, isRepeated: true },
  { key: "unpaid", compare: compareUnpaidReplies, maxPages: 1, isRepeated: true },
];

/** A reconciliation task and its walks. Each task has its own lease and progress. */
export type ReconciliationPlan = { task: string; walks: readonly Walk[] };

const USAGE_PLAN: ReconciliationPlan = { task: "reconcile", walks: USAGE_WALKS };

/** Returns the plan that compares done turns with the call log: a separate task, so that usage is repaired even while the llm-proxy is down. */
export function createCallLogPlan(compare: Comparison): ReconciliationPlan {
  return {
    task: CALL_LOG_TASK,
    walks: [
      { key: "done", compare, maxPages: NEW_PAGES, isRepeated: false },
      { key: "done_again", compare, maxPages: REPEATED_PAGES, isRepeated: true },
    ],
  };
}

const CALL_LOG_TASK = "fill call log";
const LEASE_SECONDS = 60;

/**
 * Returns a function that runs a plan's walks. The default plan compares turns with usage and repairs the differences. All replicas call the
 * function periodically, and one at a time does the work. The progress is stored after each page, so that another replica continues after a
 * crash.
 */
export function createReconciliationTask(
  deps: ReconcileDeps,
  { everySeconds, days, minAgeSeconds }: ReconciliationSettings,
  { task, walks }: ReconciliationPlan = USAGE_PLAN,
): (signal: AbortSignal) => Promise<void> {
  async function runWalk(walk: Walk, horizon: string, { progress, signal, saveProgress }: TaskRun): Promise<void> {
    const window = { workspaceId: "", since: latest(progress[walk.key] ?? "", horizon), minAgeSeconds };
    let token = "";
    for (let page = 0; page < walk.maxPages; page++) {
      signal.throwIfAborted();
      const { next, until } = await walk.compare(deps, window, token);
      progress[walk.key] = next === "" && walk.isRepeated ? "" : until;
      await saveProgress(progress);
      if (next === "") break;
      token = next;
    }
  }

  return createTask(deps.database, { task, leaseSeconds: LEASE_SECONDS, everySeconds }, async (run) => {
    const horizon = new Date(run.now.getTime() - days * 86_400_000).toISOString();
    // `days` does not limit holds: a hold is compared however old it is.
    for (const walk of walks) await runWalk(walk, walk.compare === compareHolds ? "" : horizon, run);
    return true;
  });
}

/** Returns the later of two times, RFC 3339 in UTC or empty for none. */
function latest(a: string, b: string): string {
  if (a === "" || b === "") return a || b;
  return Date.parse(a) >= Date.parse(b) ? a : b;
}

/** Returns how far the comparison of new turns is behind, and when the last complete run ended. NaN before the first run. */
export async function measureReconciliation(
  database: Database,
): Promise<{ lagSeconds: number; lastSuccessSeconds: number }> {
  const task = await readTask(database, USAGE_PLAN.task);
  const { done = "", counted = "" } = task?.progress ?? {};
  return {
    lagSeconds: ((task?.now.getTime() ?? Number.NaN) - Math.min(Date.parse(done), Date.parse(counted))) / 1_000,
    lastSuccessSeconds: (task?.succeededAt?.getTime() ?? Number.NaN) / 1_000,
  };
}

/**
 * Returns how far the comparison with the call log is behind. Before its first success, returns the age of the oldest done turn, so that a
 * comparison that never succeeds is noticed.
 */
export async function measureCallLog(database: Database): Promise<{ lagSeconds: number }> {
  const task = await readTask(database, CALL_LOG_TASK);
  const done = task?.progress.done;
  if (task === undefined || done === undefined) return { lagSeconds: await readOldestDoneSeconds(database) };
  return { lagSeconds: (task.now.getTime() - Date.parse(done)) / 1_000 };
}

import { type Database, type Logger, type Registry, registerShardGauges, type Shard } from "@parley/service-kit";
import { createTask, readTask } from "../leases/index.ts";
import { type AuditedQuota, auditPage, WORKSPACES_PER_PAGE } from "./usage-audit.service.ts";
import {
  advanceUsageAudit,
  findNextPage,
  listDifferingPairs,
  type UsageAuditProgress,
} from "./usage-audit-progress.ts";

const TASK = "audit usage";
const LEASE_SECONDS = 300;
/** The limits of one run. With 20 million turns a month, the usage audit of two months takes about 20 runs. */
const TURNS_PER_RUN = 2_000_000;
const PAGES_PER_RUN = 2_000;
/** The gauge is NaN if no run has succeeded for this long. */
const STALE_SECONDS = 1_800;

export type UsageAuditTaskOptions = {
  /** The pause after a run, before any replica starts the next one. */
  everySeconds: number;
  /**
   * A month becomes final when an audit that began at least this many days after the month's end finds no difference. Later runs skip a final
   * month. Final does not mean closed: docs/quota.md describes when a month closes.
   */
  finalAfterDays: number;
  /** A run ends after this many done turns or `pagesPerRun` pages, whichever comes first. */
  turnsPerRun?: number;
  pagesPerRun?: number;
};

/**
 * Returns a function that audits the current month, the previous one until it is final, and months with differences, workspace by workspace.
 * All replicas call it periodically, and one at a time does the work. A run continues where the last one stopped.
 */
export function createUsageAuditTask(
  { database, quota, log }: { database: Database; quota: AuditedQuota; log: Logger },
  { everySeconds, finalAfterDays, turnsPerRun = TURNS_PER_RUN, pagesPerRun = PAGES_PER_RUN }: UsageAuditTaskOptions,
): (signal: AbortSignal) => Promise<void> {
  const options = { task: TASK, leaseSeconds: LEASE_SECONDS, everySeconds };
  return createTask(database, options, async ({ signal, now, saveProgress, ...run }) => {
    let progress: UsageAuditProgress = run.progress;
    let turns = 0;
    for (let page = 0; page < pagesPerRun && turns < turnsPerRun; page++) {
      signal.throwIfAborted();
      const { month, after } = findNextPage(progress, now);
      const { workspaces, next } = await auditPage(database, quota, month, { after, limit: WORKSPACES_PER_PAGE });
      turns += workspaces.reduce((sum, { doneMessages }) => sum + doneMessages, 0);
      for (const { id, differences } of workspaces)
        if (differences.length > 0)
          log.error({ workspace_id: id, month, differences: differences.slice(0, 10) }, "turns and usage differ");
      const advanced = advanceUsageAudit(progress, { month, workspaces, next }, { now, finalAfterDays });
      progress = advanced.progress;
      await saveProgress({ ...progress });
      if (advanced.isComplete) break;
    }
    return true;
  });
}

/** Every replica reports the same value, whichever one audits. */
export function registerUsageAuditGauge(registry: Registry, shards: readonly Shard[], log: Logger): void {
  registerShardGauges(
    registry,
    {
      unreconciled: {
        name: "parley_usage_unreconciled_workspaces",
        help: "Pairs of a workspace and an audited month whose turns and usage differ; NaN if no run has succeeded for 30 minutes.",
      },
    },
    shards,
    async ({ database }) => {
      const task = await readTask(database, TASK);
      const ageSeconds = task?.succeededAt ? (task.now.getTime() - task.succeededAt.getTime()) / 1_000 : Number.NaN;
      return {
        unreconciled: ageSeconds <= STALE_SECONDS ? listDifferingPairs(task?.progress ?? {}).length : Number.NaN,
      };
    },
    log,
  );
}

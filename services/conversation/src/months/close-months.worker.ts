import { type RpcClient, RpcError } from "@parley/rpc";
import type { Month, QuotaService } from "@parley/rpc/quota";
import type { Database, Logger } from "@parley/service-kit";
import { createTask, type Progress } from "../leases/index.ts";
import { type AuditedQuota, auditPage, WORKSPACES_PER_PAGE } from "../usage-audit/index.ts";
import { findUnsettledReason, storeClosedMonths } from "./months.store.ts";

const TASK = "close months";
const LEASE_SECONDS = 300;
const QUOTA_CALL_OPTIONS = { timeoutMs: 30_000, waitForReady: true };
const DAY_SECONDS = 86_400;
const TURNS_PER_RUN = 2_000_000;
const PAGES_PER_RUN = 2_000;

export type QuotaClient = AuditedQuota & Pick<RpcClient<typeof QuotaService>, "listMonths" | "closeMonth">;

export type CloseMonthsOptions = {
  everySeconds: number;
  /** A month is closed at the earliest this many days after its end. */
  finalAfterDays: number;
  /** A run ends after this many compared turns or after PAGES_PER_RUN pages. The next run continues where it ended. */
  turnsPerRun?: number;
};

export type CloseMonthsDeps = { database: Database; quota: QuotaClient; log: Logger };

/** The progress in a month: the last compared workspace (`after`), and the total usage of the compared workspaces. */
type MonthComparison = { month: string; after: string; used: number };

/** The result of comparing a page. If neither `next` nor `refusal` is set, the month has been closed. */
type ComparedMonthPage = {
  /** The number of compared turns. */
  turns: number;
  /** Set if the month has more workspaces to compare. */
  next?: MonthComparison;
  /** Why the month cannot be closed. */
  refusal?: string;
};

/**
 * Returns a function that closes each month that ended at least `finalAfterDays` days ago, if all of its turns are settled and match its usage.
 * Replicas call it periodically, and one at a time does the work.
 */
export function createCloseMonthsTask(
  deps: CloseMonthsDeps,
  { everySeconds, finalAfterDays, turnsPerRun = TURNS_PER_RUN }: CloseMonthsOptions,
): (signal: AbortSignal) => Promise<void> {
  const { database, quota, log } = deps;
  const options = { task: TASK, leaseSeconds: LEASE_SECONDS, everySeconds };
  return createTask(database, options, async ({ signal, progress, saveProgress }) => {
    const { months } = await quota.listMonths({}, QUOTA_CALL_OPTIONS);
    await storeClosedMonths(
      database,
      months.filter(({ closedAt }) => closedAt !== ""),
    );
    const due = months.filter((month) => isDue(month, finalAfterDays)).map(({ month }) => month);
    let comparison = resumeComparison(progress, due.sort());
    let turns = 0;
    for (let page = 0; comparison !== undefined; page++) {
      signal.throwIfAborted();
      if (page === PAGES_PER_RUN || turns >= turnsPerRun) return false;
      const { month } = comparison;
      const { turns: turnsOfPage, next, refusal } = await comparePage(deps, comparison);
      if (refusal !== undefined) log.warn({ month, reason: refusal }, "month cannot be closed yet");
      turns += turnsOfPage;
      comparison = next ?? startComparison(due.find((each) => each > month));
      await saveProgress(toProgress(comparison));
    }
    return true;
  });
}

function isDue({ closedAt, endedSeconds }: Month, finalAfterDays: number): boolean {
  return closedAt === "" && endedSeconds >= finalAfterDays * DAY_SECONDS;
}

function startComparison(month: string | undefined): MonthComparison | undefined {
  return month === undefined ? undefined : { month, after: "", used: 0 };
}

function resumeComparison(
  { month = "", after = "", used = "0" }: Progress,
  due: readonly string[],
): MonthComparison | undefined {
  return due.includes(month) ? { month, after, used: Number(used) } : startComparison(due[0]);
}

function toProgress(comparison: MonthComparison | undefined): Progress {
  return comparison === undefined ? {} : { ...comparison, used: String(comparison.used) };
}

/** Compares the next workspaces of a month. Closes the month after its last workspace. */
async function comparePage(
  { database, quota }: CloseMonthsDeps,
  comparison: MonthComparison,
): Promise<ComparedMonthPage> {
  const { month, after } = comparison;
  // This check precedes the comparison. In the other order, a turn could be settled after the comparison and before the check, and its usage would
  // be missing from the comparison. If the usage changes after the comparison, CloseMonth refuses.
  const refusal = await findUnsettledReason(database, month);
  if (refusal !== undefined) return { turns: 0, refusal };
  const page = await auditPage(database, quota, month, { after, limit: WORKSPACES_PER_PAGE });
  const turns = page.workspaces.reduce((sum, { doneMessages }) => sum + doneMessages, 0);
  if (page.workspaces.some(({ differences }) => differences.length > 0))
    return { turns, refusal: "turns_and_usage_differ" };
  if (page.workspaces.some(({ held, waiting }) => held > 0 || waiting > 0))
    return { turns, refusal: "month_has_holds" };
  const used = comparison.used + page.workspaces.reduce((sum, workspace) => sum + workspace.used, 0);
  if (page.next !== "") return { turns, next: { month, after: page.next, used } };
  try {
    await quota.closeMonth({ month, used: BigInt(used) }, QUOTA_CALL_OPTIONS);
    return { turns };
  } catch (error) {
    if (error instanceof RpcError && CLOSE_REFUSALS.has(error.code)) return { turns, refusal: error.code };
    throw error;
  }
}

const CLOSE_REFUSALS: ReadonlySet<string> = new Set(["month_not_ended", "month_has_holds", "month_changed"]);

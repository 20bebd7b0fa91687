import type { WorkspaceUsageAudit } from "./usage-audit.service.ts";

/** How far the usage audit has come, stored after each page. One audit of all months can take several runs of the audit task. */
export type UsageAuditProgress = {
  /** The month of the next page; undefined while no audit is in progress. */
  month?: string;
  /** The last workspace of the previous page; empty at the start of a month. */
  after?: string;
  /** When the audit of the month began, RFC 3339. */
  startedAt?: string;
  /** A JSON array of the workspaces with differences, each as "<month> <workspace id>". */
  differing?: string;
  /** The newest month that is no longer audited (see advanceUsageAudit). */
  finalMonth?: string;
};

/** The maximum number of entries in `differing` for each month. */
const MAX_DIFFERING = 1_000;

/** Returns the UTC month of a time as "YYYY-MM", or the month that is `offset` months later. */
export function monthOf(time: Date, offset = 0): string {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + offset, 1)).toISOString().slice(0, 7);
}

export function listDifferingPairs({ differing = "[]" }: UsageAuditProgress): string[] {
  return JSON.parse(differing) as string[];
}

/** Returns the months to audit, newest first: the current one, the previous one until it is final, and months with differences. */
export function monthsToAudit(progress: UsageAuditProgress, now: Date): string[] {
  const [current, previous] = [monthOf(now), monthOf(now, -1)];
  const differing = listDifferingPairs(progress).map((each) => each.slice(0, current.length));
  const months = new Set([current, ...(progress.finalMonth === previous ? [] : [previous]), ...differing]);
  return [...months].sort((a, b) => (a < b ? 1 : -1));
}

/** Returns the next page to audit. Skips a month that is no longer audited. After the last month, a new audit begins. */
export function findNextPage(
  progress: UsageAuditProgress,
  now: Date,
): Required<Pick<UsageAuditProgress, "month" | "after">> {
  const { month = monthOf(now), after = "" } = progress;
  const pageMonth = monthsToAudit(progress, now).find((each) => each <= month) ?? monthOf(now);
  return { month: pageMonth, after: pageMonth === progress.month ? after : "" };
}

/**
 * Returns the progress after a page, and whether it was the audit's last page. A month becomes final if its audit finds no difference and began at
 * least `finalAfterDays` days after the month ended. Before that time, the reconciler may still repair the month's turns. `page.next` is the page's
 * last workspace, or empty after the month's last page.
 */
export function advanceUsageAudit(
  progress: UsageAuditProgress,
  page: { month: string; workspaces: readonly Pick<WorkspaceUsageAudit, "id" | "differences">[]; next: string },
  { now, finalAfterDays }: { now: Date; finalAfterDays: number },
): { progress: UsageAuditProgress; isComplete: boolean } {
  const { month, workspaces, next } = page;
  const isContinued = progress.month === month && progress.after;
  const startedAt = (isContinued ? progress.startedAt : undefined) ?? now.toISOString();
  const audited = new Set(workspaces.map(({ id }) => `${month} ${id}`));
  const [found, kept] = [
    workspaces.filter(({ differences }) => differences.length > 0).map(({ id }) => `${month} ${id}`),
    listDifferingPairs(progress).filter((each) => !audited.has(each)),
  ];
  // This page's differences come first, so that the limit drops older entries.
  const ofMonth = [...found, ...kept.filter((each) => each.startsWith(month))].slice(0, MAX_DIFFERING);
  const differing = [...kept.filter((each) => !each.startsWith(month)), ...ofMonth];
  const changed: UsageAuditProgress = { ...progress, differing: JSON.stringify(differing) };
  if (next !== "") return { progress: { ...changed, month, after: next, startedAt }, isComplete: false };

  const isFinal =
    Date.parse(startedAt) >= Date.parse(`${nextMonth(month)}-01T00:00:00Z`) + finalAfterDays * 86_400_000 &&
    ofMonth.length === 0;
  if (isFinal && month > (changed.finalMonth ?? "")) changed.finalMonth = month;
  const following = monthsToAudit(progress, now).find((each) => each < month);
  if (following !== undefined) return { progress: { ...changed, month: following, after: "" }, isComplete: false };
  const { month: _month, after: _after, ...rest } = changed;
  return { progress: rest, isComplete: true };
}

function nextMonth(month: string): string {
  return monthOf(new Date(`${month}-01T00:00:00Z`), 1);
}

import type { MonthlyUsage, ShowUsageResponse } from "@parley/rpc/quota";

export const SHOWN_MONTHS = 6;

export const usageKey = (workspaceId: string) => ["usage", workspaceId];

/** Reads the usage of a month ("YYYY-MM"), or of the current month if `month` is empty, and the workspace's warning thresholds. */
type ReadUsage = (month: string) => Promise<Pick<ShowUsageResponse, "usage" | "thresholds">>;

/**
 * Reads the usage of the current month and of the months before it, and the current thresholds. The service, not the browser's clock, determines
 * the current month.
 */
export async function readMonths(readUsage: ReadUsage): Promise<{ months: MonthlyUsage[]; thresholds: number[] }> {
  const { usage: current, thresholds } = await readUsage("");
  if (current === undefined) return { months: [], thresholds };
  const earlier = await Promise.all(monthsBefore(current.month).map(readUsage));
  return { months: [current, ...earlier.flatMap(({ usage }) => usage ?? [])], thresholds };
}

/** Returns the SHOWN_MONTHS - 1 months before a month ("YYYY-MM"), newest first. */
function monthsBefore(month: string): string[] {
  const [year = 0, monthNumber = 0] = month.split("-").map(Number);
  return Array.from({ length: SHOWN_MONTHS - 1 }, (_, index) =>
    new Date(Date.UTC(year, monthNumber - 2 - index, 1)).toISOString().slice(0, 7),
  );
}

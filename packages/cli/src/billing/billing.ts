import { TurnAdminService } from "@parley/rpc/conversation";
import type { CallSum } from "@parley/rpc/llm";
import { CallLogAdminService } from "@parley/rpc/llm";
import { readPages } from "@parley/rpc/pages";
import type { WorkspaceUsage } from "@parley/rpc/quota";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import type { CallAdmin } from "../admin/call.ts";
import { type Decimal, formatDecimal, parseDecimal } from "./decimal.ts";

/** One workspace's usage in a month. Calls, tokens and cost include those of failed and cancelled turns. */
export type Bill = {
  id: string;
  name: string;
  plan: string;
  cap: number;
  used: number;
  /** Messages of turns that are not settled yet. */
  held: number;
  /** The sum of the operator's corrections of the month; `used` includes it. */
  adjusted: number;
  /** The parts of `used` that were charged to credits, and that are overage. */
  credit_used: number;
  overage_used: number;
  /** Generations of llm-proxy. */
  calls: number;
  tokens_in: number;
  tokens_out: number;
  /** How many of `tokens_in` the providers read from their caches. */
  tokens_cached: number;
  /** A decimal in the currency of the price table. */
  cost: string;
  /** Calls that used tokens but have no price; `cost` excludes them. */
  unpriced_calls: number;
  /** Calls for which the provider sent no token counts, or whose lost row Parley added to the call log later. */
  estimated_calls: number;
  /** Complete replies of the last 7 days and of the 7 days before. Set only if the run sorts by growth. */
  last_week?: number;
  week_before?: number;
};

/** The fields that a list of bills can be sorted by. */
export const SORT_KEYS = ["id", "cost", "used", "growth"] as const;
export type SortKey = (typeof SORT_KEYS)[number];

export type BillingRun = {
  month: string;
  workspaces: Bill[];
  totals: Omit<Bill, "id" | "name" | "plan" | "cap">;
};

export type Weeks = Pick<Bill, "last_week" | "week_before">;

const PAGE_SIZE = 500;

/**
 * Creates each workspace's bill for a UTC month. An empty `month` means the current month by the quota database's clock. Orders the bills by
 * workspace ID; with another `sort`, highest first. Returns the first `limit` bills. The totals cover all bills.
 */
export async function runBilling(
  callAdmin: CallAdmin,
  { month, sort = "id", limit }: { month: string; sort?: SortKey | undefined; limit?: number | undefined },
  progress: (count: number) => void,
): Promise<BillingRun> {
  const workspaces: Bill[] = [];
  let billedMonth = month;
  const pages = readPages((pageToken) =>
    callAdmin(WorkspaceAdminService, (quota) =>
      quota.listUsage({ month: billedMonth, pageSize: PAGE_SIZE, pageToken }),
    ),
  );
  for await (const page of pages) {
    // Keeps the month of the first page if the month changes during the run.
    billedMonth = page.month;
    const bills = await createBills(callAdmin, billedMonth, page.workspaces);
    workspaces.push(...(sort === "growth" ? await addWeeks(callAdmin, bills) : bills));
    if (page.nextPageToken !== "") progress(workspaces.length);
  }
  return { month: billedMonth, workspaces: sortBills(workspaces, sort).slice(0, limit), totals: sumBills(workspaces) };
}

/** How many more replies the workspace had in the last 7 days than in the 7 days before; negative if it had fewer. */
export function growthOf({ last_week = 0, week_before = 0 }: Weeks): number {
  return last_week - week_before;
}

const SORT_VALUES: Readonly<Record<Exclude<SortKey, "id">, (bill: Bill) => bigint>> = {
  cost: ({ cost }) => parseDecimal(cost),
  used: ({ used }) => BigInt(used),
  growth: (bill) => BigInt(growthOf(bill)),
};

/** Sorts by the highest value first. Bills with equal values keep their order. */
function sortBills(bills: Bill[], sort: SortKey): Bill[] {
  if (sort === "id") return bills;
  const sortValue = SORT_VALUES[sort];
  return bills.toSorted((a, b) => Number(sortValue(b) - sortValue(a)));
}

async function addWeeks(callAdmin: CallAdmin, bills: readonly Bill[]): Promise<Bill[]> {
  if (bills.length === 0) return [];
  const workspaceIds = bills.map(({ id }) => id);
  const { workspaces } = await callAdmin(TurnAdminService, (turns) => turns.compareWeeks({ workspaceIds }));
  const weeksById = new Map(workspaces.map((each) => [each.workspaceId, each]));
  return bills.map((bill) => {
    const { lastWeek = 0, weekBefore = 0 } = weeksById.get(bill.id) ?? {};
    return { ...bill, last_week: lastWeek, week_before: weekBefore };
  });
}

async function createBills(callAdmin: CallAdmin, month: string, usages: readonly WorkspaceUsage[]): Promise<Bill[]> {
  if (usages.length === 0) return [];
  const workspaceIds = usages.map(({ workspaceId }) => workspaceId);
  const { sums } = await callAdmin(CallLogAdminService, (calls) => calls.sumCalls({ month, workspaceIds }));
  const sumByWorkspaceId = new Map(sums.map((sum) => [sum.workspaceId, sum]));
  return usages.map((usage) => createBill(usage, sumByWorkspaceId.get(usage.workspaceId)));
}

function createBill(
  { workspaceId, name, plan, cap, used, held, adjusted, creditUsed, overageUsed }: WorkspaceUsage,
  sum: CallSum | undefined,
): Bill {
  return {
    ...{ id: workspaceId, name, plan, cap, used, held, adjusted, credit_used: creditUsed, overage_used: overageUsed },
    calls: Number(sum?.calls ?? 0),
    tokens_in: Number(sum?.tokensIn ?? 0),
    tokens_out: Number(sum?.tokensOut ?? 0),
    tokens_cached: Number(sum?.tokensCached ?? 0),
    cost: formatDecimal(parseDecimal(sum?.cost ?? "0")),
    unpriced_calls: Number(sum?.unpricedCalls ?? 0),
    estimated_calls: Number(sum?.estimatedCalls ?? 0),
  };
}

function sumBills(bills: readonly Bill[]): BillingRun["totals"] {
  const sum = (field: Exclude<keyof BillingRun["totals"], "cost">) =>
    bills.reduce((total, each) => total + (each[field] ?? 0), 0);
  const hasWeeks = bills.some(({ last_week }) => last_week !== undefined);
  return {
    ...{ used: sum("used"), held: sum("held"), adjusted: sum("adjusted"), calls: sum("calls") },
    ...{ credit_used: sum("credit_used"), overage_used: sum("overage_used") },
    ...{ tokens_in: sum("tokens_in"), tokens_out: sum("tokens_out"), tokens_cached: sum("tokens_cached") },
    cost: formatDecimal(bills.reduce<Decimal>((total, { cost }) => total + parseDecimal(cost), 0n)),
    ...{ unpriced_calls: sum("unpriced_calls"), estimated_calls: sum("estimated_calls") },
    ...(hasWeeks && { last_week: sum("last_week"), week_before: sum("week_before") }),
  };
}

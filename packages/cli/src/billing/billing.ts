import type { CallSum } from "@parley/rpc/llm";
import { CallLedgerAdminService } from "@parley/rpc/llm";
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
  /** Generations of llm-proxy. */
  calls: number;
  tokens_in: number;
  tokens_out: number;
  /** A decimal in the currency of the price table. */
  cost: string;
  /** Calls that used tokens but have no price; `cost` excludes them. */
  unpriced_calls: number;
  /** Calls for which the provider sent no token counts, or whose lost row Parley added to the call log later. */
  estimated_calls: number;
};

export type BillingRun = { month: string; workspaces: Bill[]; totals: Omit<Bill, "id" | "name" | "plan" | "cap"> };

const PAGE_SIZE = 500;

/** Creates each workspace's bill for a UTC month, ordered by workspace ID. An empty `month` means the current month by the quota database's clock. */
export async function runBilling(
  callAdmin: CallAdmin,
  month: string,
  progress: (count: number) => void,
): Promise<BillingRun> {
  const workspaces: Bill[] = [];
  let billedMonth = month;
  for (let pageToken = ""; ; ) {
    const page = await callAdmin(WorkspaceAdminService, (quota) =>
      quota.listUsage({ month: billedMonth, pageSize: PAGE_SIZE, pageToken }),
    );
    // Keeps the month of the first page if the month changes during the run.
    billedMonth = page.month;
    workspaces.push(...(await createBills(callAdmin, billedMonth, page.workspaces)));
    pageToken = page.nextPageToken;
    if (pageToken === "") break;
    progress(workspaces.length);
  }
  return { month: billedMonth, workspaces, totals: sumBills(workspaces) };
}

async function createBills(callAdmin: CallAdmin, month: string, usages: readonly WorkspaceUsage[]): Promise<Bill[]> {
  if (usages.length === 0) return [];
  const workspaceIds = usages.map(({ workspaceId }) => workspaceId);
  const { sums } = await callAdmin(CallLedgerAdminService, (calls) => calls.sumCalls({ month, workspaceIds }));
  const sumByWorkspaceId = new Map(sums.map((sum) => [sum.workspaceId, sum]));
  return usages.map((usage) => createBill(usage, sumByWorkspaceId.get(usage.workspaceId)));
}

function createBill(
  { workspaceId, name, plan, cap, used, held, adjusted }: WorkspaceUsage,
  sum: CallSum | undefined,
): Bill {
  return {
    ...{ id: workspaceId, name, plan, cap, used, held, adjusted },
    calls: Number(sum?.calls ?? 0),
    tokens_in: Number(sum?.tokensIn ?? 0),
    tokens_out: Number(sum?.tokensOut ?? 0),
    cost: formatDecimal(parseDecimal(sum?.cost ?? "0")),
    unpriced_calls: Number(sum?.unpricedCalls ?? 0),
    estimated_calls: Number(sum?.estimatedCalls ?? 0),
  };
}

function sumBills(bills: readonly Bill[]): BillingRun["totals"] {
  const sum = (field: Exclude<keyof BillingRun["totals"], "cost">) =>
    bills.reduce((total, each) => total + each[field], 0);
  return {
    ...{ used: sum("used"), held: sum("held"), adjusted: sum("adjusted"), calls: sum("calls") },
    ...{ tokens_in: sum("tokens_in"), tokens_out: sum("tokens_out") },
    cost: formatDecimal(bills.reduce<Decimal>((total, { cost }) => total + parseDecimal(cost), 0n)),
    ...{ unpriced_calls: sum("unpriced_calls"), estimated_calls: sum("estimated_calls") },
  };
}

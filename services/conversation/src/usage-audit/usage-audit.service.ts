import type { RpcClient } from "@parley/rpc";
import { type QuotaService, ReservationState } from "@parley/rpc/quota";
import { type Database, ServiceError } from "@parley/service-kit";
import { compareUnpaid } from "../reconciliation/index.ts";
import { type Difference, type DoneTurnTotals, findDifferences, isReconciled, type MonthUsage } from "./reconcile.ts";
import {
  countDoneTurns,
  countDoneTurnsOfPage,
  findOpenedTurns,
  listDoneTurnIds,
  sortDistinctIds,
} from "./usage-audit.store.ts";

export type AuditedQuota = Pick<
  RpcClient<typeof QuotaService>,
  "getMonth" | "listMonthTurns" | "getReservations" | "listUnpaid"
>;

export type WorkspaceUsageAudit = {
  id: string;
  doneMessages: number;
  used: number;
  /** The number of messages in the usage ledger, adjustments included. */
  ledger: number;
  held: number;
  /** The part of `used` and of `ledger` that the operator added or, if negative, removed. */
  adjusted: number;
  /** The number of done turns in the outbox; 0 if the usage audit did not compare turn by turn. */
  waiting: number;
  differences: Difference[];
};

/** If the quota service restarts, the usage audit waits for it. */
const QUOTA_CALL_OPTIONS = { timeoutMs: 30_000, waitForReady: true };

/** Limits the turns that one SQL statement counts: 500,000 if 20 workspaces reach the cap of the largest plan. */
export const WORKSPACES_PER_PAGE = 20;

/**
 * Reconciles the done turns of a UTC month with the quota service's usage and, in the current month, the unpaid replies of the current day. If the
 * workspace id is empty, compares all workspaces page by page, and throws between two pages if the signal is aborted. The month is "YYYY-MM", or
 * empty for the current month.
 */
export async function auditUsage(
  database: Database,
  quota: AuditedQuota,
  request: { workspaceId: string; month: string },
  signal: AbortSignal,
): Promise<{ month: string; workspaces: WorkspaceUsageAudit[] }> {
  const audited = await auditMonth(database, quota, request, signal);
  const byId = new Map(audited.workspaces.map((each) => [each.id, each]));
  for (const { workspaceId: id, day } of await compareUnpaid(database, quota, request.workspaceId)) {
    if (!day.startsWith(audited.month)) continue;
    const workspace = byId.get(id) ?? { ...NO_USAGE, id, differences: [] };
    workspace.differences.push({ kind: "unpaid_differs", turnId: "" });
    byId.set(id, workspace);
  }
  const ids = await sortDistinctIds(database, [...byId.keys()]);
  return { month: audited.month, workspaces: ids.flatMap((id) => byId.get(id) ?? []) };
}

const NO_USAGE = { doneMessages: 0, used: 0, ledger: 0, held: 0, adjusted: 0, waiting: 0 };

/**
 * Compares counts, and digests of the turn ids. If these differ, or
 * if messages are held, compares turn by turn unless rows of turns or of the usage ledger were pruned.
 */
async function auditMonth(
  database: Database,
  quota: AuditedQuota,
  { workspaceId, month: requestedMonth }: { workspaceId: string; month: string },
  signal: AbortSignal,
): Promise<{ month: string; workspaces: WorkspaceUsageAudit[] }> {
  if (workspaceId !== "") {
    const { month, workspaces } = await quota.getMonth({ workspaceId, month: requestedMonth }, QUOTA_CALL_OPTIONS);
    const turnTotals = await countDoneTurns(database, workspaceId, month);
    const ids = turnTotals.length + workspaces.length > 0 ? [workspaceId] : [];
    return {
      month,
      workspaces: await compareWorkspaces(database, quota, month, { ids, turnTotals, usage: workspaces }),
    };
  }
  const page = { after: "", limit: WORKSPACES_PER_PAGE };
  const { month, workspaces, ...firstPage } = await auditPage(database, quota, requestedMonth, page);
  let { next } = firstPage;
  while (next !== "") {
    signal.throwIfAborted();
    const following = await auditPage(database, quota, month, { ...page, after: next });
    workspaces.push(...following.workspaces);
    next = following.next;
  }
  return { month, workspaces };
}

/**
 * Reconciles the next workspaces of a month, at most `limit` of them, in the order of their ids. Returns the id after which the next page
 * begins; empty after the last page.
 */
export async function auditPage(
  database: Database,
  quota: AuditedQuota,
  requestedMonth: string,
  { after, limit }: { after: string; limit: number },
): Promise<{ month: string; workspaces: WorkspaceUsageAudit[]; next: string }> {
  const request = { month: requestedMonth, maxWorkspaces: limit, afterWorkspaceId: after };
  const { month, workspaces: usage } = await quota.getMonth(request, QUOTA_CALL_OPTIONS);
  const turnTotals = await countDoneTurnsOfPage(database, month, { after, limit });
  const ids = await sortDistinctIds(
    database,
    [...usage, ...turnTotals].map(({ workspaceId }) => workspaceId),
  );
  requireSameOrder(usage, ids);
  // A list with `limit` workspaces may omit workspaces after its last id, so the page ends there. If both lists have `limit` workspaces, the page
  // ends at the lower of their last ids.
  const lastIds = [usage, turnTotals].flatMap((list) =>
    list.length === limit ? (list.at(-1)?.workspaceId ?? []) : [],
  );
  const next = ids.find((id) => lastIds.includes(id)) ?? "";
  const page = next === "" ? ids : ids.slice(0, ids.indexOf(next) + 1);
  return { month, workspaces: await compareWorkspaces(database, quota, month, { ids: page, turnTotals, usage }), next };
}

/** Throws if the databases of quota and conversation sort workspace ids differently, because pages would then omit workspaces. */
function requireSameOrder(usage: readonly MonthUsage[], ids: readonly string[]): void {
  const places = usage.map(({ workspaceId }) => ids.indexOf(workspaceId));
  if (places.some((place, index) => place < (places[index - 1] ?? 0)))
    throw new ServiceError(
      "failed_precondition",
      "databases_sort_differently",
      "the databases of quota and conversation sort workspace ids differently: both need the same collation",
    );
}

async function compareWorkspaces(
  database: Database,
  quota: AuditedQuota,
  month: string,
  page: { ids: readonly string[]; turnTotals: readonly DoneTurnTotals[]; usage: readonly MonthUsage[] },
): Promise<WorkspaceUsageAudit[]> {
  const turnTotalsById = new Map(page.turnTotals.map((each) => [each.workspaceId, each]));
  const usageById = new Map(page.usage.map((each) => [each.workspaceId, each]));
  const audited: WorkspaceUsageAudit[] = [];
  for (const id of page.ids) {
    const turnTotals = turnTotalsById.get(id) ?? { workspaceId: id, done: 0, digest: 0n, pruned: 0 };
    const usage = usageById.get(id) ?? {
      workspaceId: id,
      used: 0,
      ledger: 0,
      held: 0,
      ledgerDigest: 0n,
      adjusted: 0,
      pruned: 0,
      chargesDiffer: false,
    };
    const { used, ledger, held, adjusted } = usage;
    const totalsOnly = { id, doneMessages: turnTotals.done, used, ledger, held, adjusted, waiting: 0 };
    if (isReconciled(turnTotals, usage)) audited.push({ ...totalsOnly, differences: [] });
    // Pruned rows cannot be compared turn by turn.
    else if (turnTotals.pruned > 0 || usage.pruned > 0)
      audited.push({ ...totalsOnly, differences: [{ kind: "totals_differ", turnId: "" }] });
    else audited.push(await compareTurns(database, quota, id, month));
  }
  return audited;
}

/** The order of the reads keeps the result exact while turns run; see TurnSets in reconcile.ts. */
async function compareTurns(
  database: Database,
  quota: AuditedQuota,
  workspaceId: string,
  month: string,
): Promise<WorkspaceUsageAudit> {
  const before = await listDoneTurnIds(database, workspaceId, month);
  const counted = new Set<string>();
  const held = new Set<string>();
  for await (const page of quota.listMonthTurns({ workspaceId, month }, QUOTA_CALL_OPTIONS)) {
    for (const id of page.counted) counted.add(id);
    for (const id of page.held) held.add(id);
  }
  const { workspaces } = await quota.getMonth({ workspaceId, month }, QUOTA_CALL_OPTIONS);
  const { used = 0, ledger = 0, held: heldCount = 0, adjusted = 0, chargesDiffer = false } = workspaces[0] ?? {};
  const after = await listDoneTurnIds(database, workspaceId, month);
  const { opened, goneFromOutbox } = await findOpenedTurns(database, workspaceId, [...held]);
  const closedButHeld = await findHeld(quota, workspaceId, goneFromOutbox);
  const differences = findDifferences(
    { settled: before.settled, counted, held, done: after.done, opened, closedButHeld },
    { used, ledger, chargesDiffer },
  );
  const waiting = after.done.size - after.settled.size;
  return {
    id: workspaceId,
    doneMessages: after.done.size,
    used,
    ledger,
    held: heldCount,
    adjusted,
    waiting,
    differences,
  };
}

const TURNS_PER_CALL = 1_000;

/** Returns those of the turns for which the quota service still holds a message. */
async function findHeld(quota: AuditedQuota, workspaceId: string, turnIds: readonly string[]): Promise<Set<string>> {
  const held = new Set<string>();
  for (let offset = 0; offset < turnIds.length; offset += TURNS_PER_CALL) {
    const turns = turnIds.slice(offset, offset + TURNS_PER_CALL).map((turnId) => ({ workspaceId, turnId }));
    const { reservations } = await quota.getReservations({ turns }, QUOTA_CALL_OPTIONS);
    for (const { turnId, state } of reservations) if (state === ReservationState.HELD) held.add(turnId);
  }
  return held;
}

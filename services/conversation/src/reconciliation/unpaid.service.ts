import type { RpcClient } from "@parley/rpc";
import type { QuotaService } from "@parley/rpc/quota";
import type { Database } from "@parley/service-kit";
import { countUnpaidTurns, type UnpaidTurns } from "./unpaid.store.ts";

export type UnpaidQuota = Pick<RpcClient<typeof QuotaService>, "listUnpaid">;

/** A workspace for which quota's number of unpaid replies of the current UTC day differs from the turns. */
export type UnpaidDifference = {
  workspaceId: string;
  day: string;
  /** Quota's number. */
  counted: number;
  /** The number of the turns. */
  closed: number;
  /** Whether no unpaid reply of the day was in the outbox, so that `closed` is the number that quota must have. */
  isCertain: boolean;
};

const PAGE_SIZE = 1_000;
const QUOTA_CALL_OPTIONS = { timeoutMs: 10_000, waitForReady: true };

/**
 * Compares the unpaid replies of the current UTC day with quota's numbers, for one or, if the workspace id is empty, all workspaces. The turns are
 * counted before and after quota's numbers are read. A turn that had left the outbox before is counted by quota, and quota counts only turns
 * that are closed afterwards. So a number outside this range is a difference, even while turns run.
 */
export async function compareUnpaid(
  database: Database,
  quota: UnpaidQuota,
  workspaceId: string,
): Promise<UnpaidDifference[]> {
  const { day } = await listUnpaid(quota, workspaceId, 1);
  const before = byWorkspace(await countUnpaidTurns(database, day, workspaceId));
  const numbers = await listUnpaid(quota, workspaceId);
  // At midnight, the numbers belong to the next day.
  if (numbers.day !== day) return [];
  const after = byWorkspace(await countUnpaidTurns(database, day, workspaceId));
  const ids = new Set([...numbers.unpaid.keys(), ...after.keys()]);
  return [...ids].flatMap((id): UnpaidDifference[] => {
    const counted = numbers.unpaid.get(id) ?? 0;
    const settledBefore = before.get(id)?.settled ?? 0;
    const { closed = 0 } = after.get(id) ?? {};
    if (counted >= settledBefore && counted <= closed) return [];
    return [{ workspaceId: id, day, counted, closed, isCertain: settledBefore === closed }];
  });
}

function byWorkspace(turns: readonly UnpaidTurns[]): Map<string, UnpaidTurns> {
  return new Map(turns.map((each) => [each.workspaceId, each]));
}

/** Returns quota's numbers by workspace, from at most `maxPages` pages. Returns an empty day if the day ends between two pages. */
async function listUnpaid(
  quota: UnpaidQuota,
  workspaceId: string,
  maxPages = Number.POSITIVE_INFINITY,
): Promise<{ day: string; unpaid: Map<string, number> }> {
  const unpaid = new Map<string, number>();
  let afterWorkspaceId = "";
  let firstDay: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const request = { workspaceId, pageSize: PAGE_SIZE, afterWorkspaceId };
    const response = await quota.listUnpaid(request, QUOTA_CALL_OPTIONS);
    firstDay ??= response.day;
    for (const each of response.workspaces) unpaid.set(each.workspaceId, each.unpaid);
    if (response.day !== firstDay) return { day: "", unpaid };
    if (response.workspaces.length < PAGE_SIZE) break;
    afterWorkspaceId = response.workspaces.at(-1)?.workspaceId ?? "";
  }
  return { day: firstDay ?? "", unpaid };
}

import type { RpcClient } from "@parley/rpc";
import type { QuotaService } from "@parley/rpc/quota";
import type { Database } from "@parley/service-kit";
import { countDoneTurns, findOpenedTurns, listDoneTurns } from "./audit.store.ts";
import { type Difference, findDifferences, isReconciled } from "./reconcile.ts";

export type AuditedQuota = Pick<RpcClient<typeof QuotaService>, "getMonth" | "listMonthTurns">;

export type WorkspaceAudit = {
  id: string;
  doneMessages: number;
  used: number;
  ledger: number;
  held: number;
  /** The number of done turns in the outbox. */
  waiting: number;
  differences: Difference[];
};

/** If the quota service restarts, the audit waits for it instead of failing. */
const QUOTA_CALL = { timeoutMs: 30_000, waitForReady: true };

/**
 * Reconciles the done turns of a UTC month with the quota service's usage. Compares counts and digests. If these differ, or if messages are
 * held, compares turn by turn. An empty workspace id means every workspace. The month is "YYYY-MM", or empty for the current month.
 */
export async function audit(
  database: Database,
  quota: AuditedQuota,
  workspaceId: string,
  requestedMonth: string,
): Promise<{ month: string; workspaces: WorkspaceAudit[] }> {
  const { month, workspaces } = await quota.getMonth({ workspaceId, month: requestedMonth }, QUOTA_CALL);
  const doneTurns = await countDoneTurns(database, workspaceId, month);
  const turnsById = new Map(doneTurns.map((each) => [each.workspaceId, each]));
  const usageById = new Map(workspaces.map((each) => [each.workspaceId, each]));
  const ids = [...new Set([...turnsById.keys(), ...usageById.keys()])].sort((a, b) => (a < b ? -1 : 1));
  const audited: WorkspaceAudit[] = [];
  for (const id of ids) {
    const turns = turnsById.get(id) ?? { workspaceId: id, done: 0, digest: 0n };
    const usage = usageById.get(id) ?? { workspaceId: id, used: 0, ledger: 0, held: 0, ledgerDigest: 0n };
    const { used, ledger, held } = usage;
    audited.push(
      isReconciled(turns, usage)
        ? { id, doneMessages: turns.done, used, ledger, held, waiting: 0, differences: [] }
        : await compareTurns(database, quota, id, month),
    );
  }
  return { month, workspaces: audited };
}

/** Compares a workspace turn by turn. The order of the reads keeps the result exact while turns run; see TurnSets. */
async function compareTurns(
  database: Database,
  quota: AuditedQuota,
  workspaceId: string,
  month: string,
): Promise<WorkspaceAudit> {
  const before = await listDoneTurns(database, workspaceId, month);
  const counted = new Set<string>();
  const held = new Set<string>();
  for await (const page of quota.listMonthTurns({ workspaceId, month }, QUOTA_CALL)) {
    for (const id of page.counted) counted.add(id);
    for (const id of page.held) held.add(id);
  }
  const { workspaces } = await quota.getMonth({ workspaceId, month }, QUOTA_CALL);
  const { used = 0, ledger = 0, held: holds = 0 } = workspaces[0] ?? {};
  const after = await listDoneTurns(database, workspaceId, month);
  const opened = await findOpenedTurns(database, workspaceId, [...held]);
  const differences = findDifferences(
    { settled: before.settled, counted, held, done: after.done, opened },
    { used, ledger },
  );
  const waiting = after.done.size - after.settled.size;
  return { id: workspaceId, doneMessages: after.done.size, used, ledger, held: holds, waiting, differences };
}

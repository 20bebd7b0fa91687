import type { RpcClient } from "@parley/rpc";
import type { QuotaService } from "@parley/rpc/quota";
import type { Database } from "@parley/service-kit";
import { listDone, readTranscripts, whichOpened } from "./audit.store.ts";
import { agrees, type Books, type Difference, findDifferences, type Transcripts } from "./reconcile.ts";

export type AuditedQuota = Pick<RpcClient<typeof QuotaService>, "getMonth" | "listMonthTurns">;

export type WorkspaceAudit = {
  id: string;
  doneMessages: number;
  used: number;
  ledger: number;
  held: number;
  /** Done turns that wait in the outbox. */
  waiting: number;
  differences: Difference[];
};

/** An operator would rather wait for a quota service that restarts than start the audit anew. */
const PATIENT = { timeoutMs: 30_000, waitForReady: true };

/**
 * Compares the transcripts of a UTC month ("YYYY-MM"; empty for the current one) with the quota service's books, for one workspace or,
 * for an empty id, for every one: first by counts and digests, then turn by turn where those differ.
 */
export async function audit(
  database: Database,
  quota: AuditedQuota,
  workspaceId: string,
  asked: string,
): Promise<{ month: string; workspaces: WorkspaceAudit[] }> {
  const { month, workspaces } = await quota.getMonth({ workspaceId, month: asked }, PATIENT);
  const transcripts = new Map(
    (await readTranscripts(database, workspaceId, month)).map((each) => [each.workspaceId, each]),
  );
  const books = new Map(workspaces.map((each) => [each.workspaceId, each]));
  const ids = [...new Set([...transcripts.keys(), ...books.keys()])].sort((a, b) => (a < b ? -1 : 1));
  const audited: WorkspaceAudit[] = [];
  for (const id of ids) {
    const told = transcripts.get(id) ?? { workspaceId: id, done: 0, digest: 0n };
    const booked = books.get(id) ?? { workspaceId: id, used: 0, ledger: 0, held: 0, ledgerDigest: 0n };
    audited.push(agrees(told, booked) ? unanimous(told, booked) : await lookCloser(database, quota, id, month));
  }
  return { month, workspaces: audited };
}

function unanimous({ workspaceId: id, done }: Transcripts, { used, ledger, held }: Books): WorkspaceAudit {
  return { id, doneMessages: done, used, ledger, held, waiting: 0, differences: [] };
}

/** The order of the reads is what makes the answer exact while turns come and go; see Turns. */
async function lookCloser(
  database: Database,
  quota: AuditedQuota,
  workspaceId: string,
  month: string,
): Promise<WorkspaceAudit> {
  const before = await listDone(database, workspaceId, month);
  const counted = new Set<string>();
  const held = new Set<string>();
  for await (const piece of quota.listMonthTurns({ workspaceId, month }, PATIENT)) {
    for (const id of piece.counted) counted.add(id);
    for (const id of piece.held) held.add(id);
  }
  const { workspaces } = await quota.getMonth({ workspaceId, month }, PATIENT);
  const { used = 0, ledger = 0, held: holds = 0 } = workspaces[0] ?? {};
  const after = await listDone(database, workspaceId, month);
  const opened = await whichOpened(database, workspaceId, [...held]);
  const differences = findDifferences(
    { settled: before.settled, counted, held, done: after.done, opened },
    { used, ledger },
  );
  const waiting = after.done.size - after.settled.size;
  return { id: workspaceId, doneMessages: after.done.size, used, ledger, held: holds, waiting, differences };
}

import type { RpcClient } from "@parley/rpc";
import type { QuotaService } from "@parley/rpc/quota";
import { type Database, type Logger, pause } from "@parley/service-kit";
import { eraseSession } from "../sessions/index.ts";
import type { Settlement } from "../turns/index.ts";
import { listExpired, listWorkspaceIds } from "./retention.store.ts";

/** Sessions erased between two pauses, each in its own transaction. */
const BATCH = 50;
const PAUSE_MS = 100;
const QUOTA_TIMEOUT_MS = 5_000;

export type RetentionDeps = {
  database: Database;
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">;
  onClosed: (closed: readonly Settlement[]) => void;
  log: Logger;
};

/**
 * Erases the sessions that are older than their workspace's retention, in batches, until none is left or the signal is aborted. Replicas
 * may run it concurrently. Returns the number of sessions erased.
 */
export async function eraseExpired(deps: RetentionDeps, signal: AbortSignal): Promise<number> {
  let erased = 0;
  for (const workspaceId of await listWorkspaceIds(deps.database)) {
    if (signal.aborted) break;
    erased += await eraseExpiredOf(deps, workspaceId, signal);
  }
  if (erased > 0) deps.log.info({ sessions: erased }, "expired sessions erased");
  return erased;
}

/** Erases one workspace's expired sessions. Logs a failure instead of throwing, so that the other workspaces are processed. */
async function eraseExpiredOf(deps: RetentionDeps, workspaceId: string, signal: AbortSignal): Promise<number> {
  const options = { timeoutMs: QUOTA_TIMEOUT_MS, waitForReady: true };
  let erased = 0;
  try {
    const { workspace } = await deps.quota.getWorkspace({ workspaceId }, options);
    const days = workspace?.retentionDays ?? 0;
    for (let isMore = days > 0; isMore && !signal.aborted; ) {
      const expired = await listExpired(deps.database, workspaceId, days, BATCH);
      for (const sessionId of expired) deps.onClosed((await eraseSession(deps.database, workspaceId, sessionId)) ?? []);
      erased += expired.length;
      isMore = expired.length === BATCH && (await pause(PAUSE_MS, signal));
    }
  } catch (error) {
    deps.log.warn({ workspace_id: workspaceId, error }, "expired session erasure failed");
  }
  return erased;
}

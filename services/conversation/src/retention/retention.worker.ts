import type { RpcClient } from "@parley/rpc";
import type { QuotaService } from "@parley/rpc/quota";
import { type Counter, type Database, type Logger, pause } from "@parley/service-kit";
import { eraseSession } from "../sessions/index.ts";
import type { NotifySettler } from "../turns/index.ts";
import { type ExpiredSession, listExpiredSessions, listWorkspaceIds } from "./retention.store.ts";

/** The number of sessions erased between two pauses. Each session has its own transaction. */
const BATCH_SESSIONS = 50;
const PAUSE_MS = 100;
const QUOTA_TIMEOUT_MS = 5_000;

export type RetentionDeps = {
  database: Database;
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">;
  notifySettler: NotifySettler;
  failures: Pick<Counter, "inc">;
  log: Logger;
};

/**
 * Erases the sessions that have been inactive for longer than their workspace's retention, in batches, until none is left or the signal is
 * aborted. The next run retries sessions that could not be erased. Replicas may erase sessions concurrently. Returns the number of sessions
 * erased.
 */
export async function eraseExpiredSessions(deps: RetentionDeps, signal: AbortSignal): Promise<number> {
  let erased = 0;
  for (const workspaceId of await listWorkspaceIds(deps.database)) {
    if (signal.aborted) break;
    erased += await eraseExpiredOfWorkspace(deps, workspaceId, signal);
  }
  if (erased > 0) deps.log.info({ sessions: erased }, "expired sessions erased");
  return erased;
}

/** Logs a failure instead of throwing, so that the run continues with the next workspace. */
async function eraseExpiredOfWorkspace(deps: RetentionDeps, workspaceId: string, signal: AbortSignal): Promise<number> {
  const options = { timeoutMs: QUOTA_TIMEOUT_MS, waitForReady: true };
  let erased = 0;
  try {
    const { workspace } = await deps.quota.getWorkspace({ workspaceId }, options);
    const days = workspace?.retentionDays ?? 0;
    let last: ExpiredSession | undefined;
    for (let isMore = days > 0; isMore && !signal.aborted; ) {
      const expired = await listExpiredSessions(deps.database, workspaceId, {
        days,
        limit: BATCH_SESSIONS,
        after: last,
      });
      for (const { id } of expired) if (!signal.aborted && (await eraseOne(deps, workspaceId, id, days))) erased++;
      last = expired.at(-1);
      isMore = expired.length === BATCH_SESSIONS && (await pause(PAUSE_MS, signal));
    }
  } catch (error) {
    deps.failures.inc();
    deps.log.warn({ workspace_id: workspaceId, error }, "workspace retention failed");
  }
  return erased;
}

/** Returns whether the session was erased. Logs a failure instead of throwing, so that the run continues with the next session. */
async function eraseOne(deps: RetentionDeps, workspaceId: string, sessionId: string, days: number): Promise<boolean> {
  try {
    const turnsClosedByErasure = await eraseSession(deps.database, workspaceId, sessionId, days);
    deps.notifySettler(turnsClosedByErasure ?? []);
    return turnsClosedByErasure !== undefined;
  } catch (error) {
    deps.failures.inc();
    deps.log.warn({ workspace_id: workspaceId, session_id: sessionId, error }, "expired session erasure failed");
    return false;
  }
}

import type { RpcClient } from "@parley/rpc";
import type { QuotaService } from "@parley/rpc/quota";
import { type Counter, type Database, type Logger, pause } from "@parley/service-kit";
import { eraseSession } from "../sessions/index.ts";
import type { NotifySettler } from "../turns/index.ts";
import { type ExpiredSession, listExpiredSessions } from "./retention.store.ts";

/** Limit of the sessions that a round erases for each workspace. Each session has its own transaction. */
const BATCH_SESSIONS = 50;
/** The pause after a full batch. */
const PAUSE_MS = 100;
/** How often a long run lists the workspaces again, to find newly expired sessions and changed retentions. */
const RELIST_MS = 60_000;
const QUOTA_TIMEOUT_MS = 5_000;
const DAY_MINUTES = 24 * 60;

/** A range of retentions, in minutes. `maxMinutes` is 0 for no limit. */
export type RetentionRange = { minMinutes: number; maxMinutes: number };

/** These need checks that are frequent compared with the retention. */
export const SHORTER_THAN_A_DAY: RetentionRange = { minMinutes: 1, maxMinutes: DAY_MINUTES - 1 };
export const A_DAY_OR_LONGER: RetentionRange = { minMinutes: DAY_MINUTES, maxMinutes: 0 };

export type RetentionDeps = {
  database: Database;
  quota: Pick<RpcClient<typeof QuotaService>, "listRetentions">;
  notifySettler: NotifySettler;
  failures: Pick<Counter, "inc">;
  log: Logger;
};

type WorkspaceRetention = { workspaceId: string; retentionMinutes: number };

type Run = {
  signal: AbortSignal;
  erased: number;
  /** For each workspace, the last session that this run did not erase: its erasure failed, or a reply is running. */
  skipped: Map<string, ExpiredSession>;
};

/**
 * Erases the sessions of the workspaces whose retention is in the range, when it has passed since the end of the session's last message. Ends
 * when none is left or the signal is aborted. Erases one batch for each workspace in turn, so that a workspace with many sessions does not delay
 * the others. The next run retries the sessions that this run did not erase. Replicas may erase sessions concurrently. Returns the number of
 * sessions erased.
 */
export async function eraseExpiredSessions(
  deps: RetentionDeps,
  range: RetentionRange,
  signal: AbortSignal,
): Promise<number> {
  const run: Run = { signal, erased: 0, skipped: new Map() };
  for (let hasMore = !signal.aborted; hasMore; ) {
    const workspaces = await listRetentions(deps, range);
    const relistAt = performance.now() + RELIST_MS;
    hasMore = await runRounds(deps, workspaces, run, relistAt);
  }
  if (run.erased > 0) deps.log.info({ sessions: run.erased }, "expired sessions erased");
  return run.erased;
}

async function listRetentions({ quota, failures }: RetentionDeps, range: RetentionRange) {
  const workspaces: WorkspaceRetention[] = [];
  try {
    for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
      const options = { timeoutMs: QUOTA_TIMEOUT_MS, waitForReady: true };
      const page = await quota.listRetentions({ ...range, pageSize: 1_000, pageToken }, options);
      workspaces.push(...page.workspaces);
      pageToken = page.nextPageToken || undefined;
    }
    return workspaces;
  } catch (error) {
    failures.inc();
    throw error;
  }
}

/** Erases batches until none is left or `endAt` has passed. Returns whether sessions may be left. */
async function runRounds(deps: RetentionDeps, workspaces: readonly WorkspaceRetention[], run: Run, endAt: number) {
  for (let remaining = workspaces; remaining.length > 0; ) {
    const withMore: WorkspaceRetention[] = [];
    for (const workspace of remaining) {
      if (run.signal.aborted) return false;
      if (await eraseBatch(deps, workspace, run)) withMore.push(workspace);
    }
    if (withMore.length > 0 && performance.now() >= endAt) return true;
    remaining = withMore;
  }
  return false;
}

/** Erases a batch of a workspace's sessions. Returns whether more may be left. Logs a failure instead of throwing. */
async function eraseBatch(deps: RetentionDeps, workspace: WorkspaceRetention, run: Run): Promise<boolean> {
  const { workspaceId, retentionMinutes: minutes } = workspace;
  try {
    const page = { minutes, limit: BATCH_SESSIONS, after: run.skipped.get(workspaceId) };
    const expired = await listExpiredSessions(deps.database, workspaceId, page);
    for (const session of expired) {
      if (run.signal.aborted) return false;
      if (await eraseOne(deps, workspace, session.id)) run.erased++;
      else run.skipped.set(workspaceId, session);
    }
    return expired.length === BATCH_SESSIONS && (await pause(PAUSE_MS, run.signal));
  } catch (error) {
    deps.failures.inc();
    deps.log.warn({ workspace_id: workspaceId, error }, "workspace retention failed");
    return false;
  }
}

/** Returns whether the session was erased. Logs a failure instead of throwing, so that the run continues with the next session. */
async function eraseOne(deps: RetentionDeps, workspace: WorkspaceRetention, sessionId: string): Promise<boolean> {
  const { workspaceId, retentionMinutes } = workspace;
  try {
    const turnsClosedByErasure = await eraseSession(deps.database, workspaceId, sessionId, retentionMinutes);
    deps.notifySettler(turnsClosedByErasure ?? []);
    return turnsClosedByErasure !== undefined;
  } catch (error) {
    deps.failures.inc();
    deps.log.warn({ workspace_id: workspaceId, session_id: sessionId, error }, "expired session erasure failed");
    return false;
  }
}

import type { RpcClient } from "@parley/rpc";
import type { QuotaService } from "@parley/rpc/quota";
import { type Database, type Logger, pause } from "@parley/service-kit";
import { eraseSession } from "../sessions/index.ts";
import type { Settlement } from "../turns/index.ts";
import { listExpired, listWorkspaceIds } from "./retention.store.ts";

/** Sessions erased, each in a transaction of its own, before others may have the database again. */
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
 * Erases the conversations that are older than their workspace keeps them, a few at a time, until none is left or the signal comes.
 * Replicas may do it at once. Answers with the number of sessions erased.
 */
export async function eraseExpired(deps: RetentionDeps, signal: AbortSignal): Promise<number> {
  let erased = 0;
  for (const workspaceId of await listWorkspaceIds(deps.database)) {
    if (signal.aborted) break;
    erased += await eraseOf(deps, workspaceId, signal);
  }
  if (erased > 0) deps.log.info({ sessions: erased }, "erased expired conversations");
  return erased;
}

/** One workspace; what goes wrong with it is no reason to pass the others over. */
async function eraseOf(deps: RetentionDeps, workspaceId: string, signal: AbortSignal): Promise<number> {
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
    deps.log.warn({ workspace_id: workspaceId, error }, "cannot erase expired conversations");
  }
  return erased;
}

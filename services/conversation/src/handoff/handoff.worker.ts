import type { Database } from "@parley/service-kit";
import type { HandoffMetrics } from "./handoff.metrics.ts";
import { type ExpiryReason, expireHandoff, listExpired } from "./handoff.store.ts";

const BATCH_SESSIONS = 200;

/**
 * Gives the sessions for which nobody came or answered in time, and those in which nobody writes, back to the bot. Replicas may run it at the same time: the statement that changes a session
 * decides. Returns how many it gave back.
 */
export async function expireHandoffs(
  { database, metrics }: { database: Database; metrics: HandoffMetrics },
  signal: AbortSignal,
): Promise<number> {
  let expired = 0;
  for (let hasMore = true; hasMore && !signal.aborted; ) {
    const sessions = await listExpired(database, BATCH_SESSIONS);
    for (const session of sessions) {
      const change = await expireHandoff(database, session);
      if (change === undefined) continue;
      metrics.count(change.handoff.reason as ExpiryReason);
      expired++;
    }
    hasMore = sessions.length === BATCH_SESSIONS;
  }
  return expired;
}

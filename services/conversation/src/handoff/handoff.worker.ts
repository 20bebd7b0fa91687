import type { Database } from "@parley/service-kit";
import type { HandoffMetrics } from "./handoff.metrics.ts";
import { expireHandoff, listExpired } from "./handoff.store.ts";

const BATCH_SESSIONS = 200;

/**
 * Gives the sessions for which nobody came in time back to the bot. Replicas may run it at the same time: the statement that changes a session
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
      if ((await expireHandoff(database, session)) === undefined) continue;
      metrics.count("missed");
      expired++;
    }
    hasMore = sessions.length === BATCH_SESSIONS;
  }
  return expired;
}

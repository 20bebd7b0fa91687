import { type Database, type Logger, pause } from "@parley/service-kit";
import { recountSessions } from "./recount.store.ts";

/** The number of sessions that one transaction locks and counts. */
const BATCH_SESSIONS = 100;
const PAUSE_MS = 100;
/**
 * Only sessions without activity for this long are counted. During an upgrade, replicas of a version without migration 0015 may add turns to an
 * active session without updating its counts.
 */
const INACTIVE_SECONDS = 600;

export type RecountDeps = { database: Database; log: Pick<Logger, "info"> };

/**
 * Counts the messages and ratings of sessions whose counts are missing or out of date, until no such session is left or the signal is aborted.
 * Replicas may run it concurrently. Returns the number of sessions counted.
 */
export async function recountAllSessions(
  { database, log }: RecountDeps,
  signal: AbortSignal,
  inactiveSeconds = INACTIVE_SECONDS,
): Promise<number> {
  let counted = 0;
  let since = "-infinity";
  for (let isMore = true; isMore && !signal.aborted; ) {
    const batch = await recountSessions(database, { inactiveSeconds, since, limit: BATCH_SESSIONS });
    counted += batch.sessions;
    since = batch.lastActivityAt;
    isMore = batch.sessions === BATCH_SESSIONS && (await pause(PAUSE_MS, signal));
  }
  if (counted > 0) log.info({ sessions: counted }, "sessions counted");
  return counted;
}

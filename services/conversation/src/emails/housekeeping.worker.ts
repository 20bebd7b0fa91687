import { type Database, pause } from "@parley/service-kit";
import { KEPT_DAYS } from "./email.ts";
import { deleteOldEmails, expireEmails } from "./queue.store.ts";

const BATCH_ROWS = 1_000;
const PAUSE_MS = 100;

/** Fails the messages that have waited for too long, and deletes those older than KEPT_DAYS. Replicas may run this concurrently. */
export async function keepEmails(database: Database, signal: AbortSignal): Promise<void> {
  await expireEmails(database);
  while (!signal.aborted && (await deleteOldEmails(database, KEPT_DAYS, BATCH_ROWS)) === BATCH_ROWS)
    await pause(PAUSE_MS, signal);
}

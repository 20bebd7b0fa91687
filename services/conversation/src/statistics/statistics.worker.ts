import type { Database } from "@parley/service-kit";
import { createTask } from "../leases/index.ts";
import { countBotRepliesByHour, deleteBotCountsBefore } from "./bot-usage.store.ts";
import { countRepliesByHour, deleteCountsBefore } from "./statistics.store.ts";

const LEASE_SECONDS = 120;
const EVERY_SECONDS = 60;
const HOUR_MS = 3_600_000;
/** Bounds the work of a statement. A large installation has some 200,000 replies a day. */
const HOURS_PER_STATEMENT = 24;
/**
 * Each run starts this many hours before the hour of the last run. A turn that is closed at the end of an hour may be committed after that
 * hour, but well before the end of the next hour.
 */
const REPEATED_HOURS = 1;

type HourlyCountOptions = {
  task: string;
  /** The age at which counts are deleted. The first run counts the replies of this many days. */
  keptDays: number;
  countByHour: (database: Database, from: Date, to: Date) => Promise<void>;
  deleteBefore: (database: Database, time: Date) => Promise<void>;
};

export function createReplyCountTask(database: Database): (signal: AbortSignal) => Promise<void> {
  return createHourlyCountTask(database, {
    task: "count_replies",
    keptDays: 100,
    countByHour: countRepliesByHour,
    deleteBefore: deleteCountsBefore,
  });
}

export function createBotReplyCountTask(database: Database): (signal: AbortSignal) => Promise<void> {
  return createHourlyCountTask(database, {
    task: "count_bot_replies",
    // Covers six months, the most that listUsageByBot returns.
    keptDays: 190,
    countByHour: countBotRepliesByHour,
    deleteBefore: deleteBotCountsBefore,
  });
}

/**
 * Returns a function that counts the replies since the task's last run. All replicas call the function periodically, and one at a time does
 * the work. If a run is aborted, the next run continues where that run stopped.
 */
function createHourlyCountTask(
  database: Database,
  { task, keptDays, countByHour, deleteBefore }: HourlyCountOptions,
): (signal: AbortSignal) => Promise<void> {
  const options = { task, leaseSeconds: LEASE_SECONDS, everySeconds: EVERY_SECONDS };
  return createTask(database, options, async ({ signal, progress, now, saveProgress }) => {
    const nowMs = now.getTime();
    const keptSinceMs = floorHour(nowMs - keptDays * 24 * HOUR_MS);
    const endMs = floorHour(nowMs) + HOUR_MS;
    const { counted_to: countedTo = "" } = progress;
    // If the database's clock was set back, the stored time may be in the future.
    const countedMs = Math.min(Date.parse(countedTo) || keptSinceMs, floorHour(nowMs));
    let fromMs = Math.max(keptSinceMs, countedMs - REPEATED_HOURS * HOUR_MS);
    while (fromMs < endMs) {
      signal.throwIfAborted();
      const toMs = Math.min(endMs, fromMs + HOURS_PER_STATEMENT * HOUR_MS);
      await countByHour(database, new Date(fromMs), new Date(toMs));
      fromMs = toMs;
      // The current hour is not over, so the next run counts it again.
      await saveProgress({ counted_to: new Date(Math.min(toMs, floorHour(nowMs))).toISOString() });
    }
    await deleteBefore(database, new Date(keptSinceMs));
    return true;
  });
}

function floorHour(ms: number): number {
  return ms - (ms % HOUR_MS);
}

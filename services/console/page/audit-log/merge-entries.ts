/** The loaded part of one service's audit log, newest first. */
export type LoadedLog<Entry> = { entries: readonly Entry[]; isComplete: boolean };

/**
 * Merges the services' audit logs, newest first. Leaves out entries that are older than the oldest loaded entry of an incomplete log, because
 * that log's next page may have newer entries.
 */
export function mergeEntries<Entry extends { changedAt: string }>(logs: readonly LoadedLog<Entry>[]): Entry[] {
  const oldestLoaded = logs
    .filter(({ isComplete }) => !isComplete)
    .map(({ entries }) => entries.at(-1)?.changedAt ?? "");
  const completeSince = oldestLoaded.toSorted((a, b) => a.localeCompare(b)).at(-1) ?? "";
  return logs
    .flatMap(({ entries }) => entries)
    .filter(({ changedAt }) => changedAt >= completeSince)
    .sort((a, b) => b.changedAt.localeCompare(a.changedAt));
}

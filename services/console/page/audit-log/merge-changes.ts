/** The loaded part of one service's audit log, newest first. */
export type LoadedLog<Change> = { changes: readonly Change[]; isComplete: boolean };

/**
 * Merges the services' audit logs, newest first. Leaves out changes that are older than the oldest loaded change of an incomplete log, because
 * that log's next page may have newer changes.
 */
export function mergeChanges<Change extends { changedAt: string }>(logs: readonly LoadedLog<Change>[]): Change[] {
  const oldestLoaded = logs
    .filter(({ isComplete }) => !isComplete)
    .map(({ changes }) => changes.at(-1)?.changedAt ?? "");
  const completeSince = oldestLoaded.toSorted((a, b) => a.localeCompare(b)).at(-1) ?? "";
  return logs
    .flatMap(({ changes }) => changes)
    .filter(({ changedAt }) => changedAt >= completeSince)
    .sort((a, b) => b.changedAt.localeCompare(a.changedAt));
}

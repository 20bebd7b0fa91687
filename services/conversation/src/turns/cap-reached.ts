import { LRUCache } from "lru-cache";

const MAX_WORKSPACES = 10_000;
const REMEMBERED_MS = 60_000;

/** The workspaces for which this process has closed a turn as `quota_exceeded` in the last minute. */
export type CapReached = Pick<LRUCache<string, true>, "has" | "set">;

/**
 * Quota refuses a message at the monthly cap after OpenTurn, and the operator pays for each embedding. While a workspace is in this list, OpenTurn
 * searches by words alone, so that messages without end at the cap cost one embedding a minute and process.
 * @param now a monotonic clock in milliseconds
 */
export function createCapReached(now: () => number): CapReached {
  return new LRUCache({ max: MAX_WORKSPACES, ttl: REMEMBERED_MS, ttlResolution: 0, perf: { now } });
}

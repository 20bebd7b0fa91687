import { LRUCache } from "lru-cache";

/** The token bucket's burst: thread time that an idle workspace may use at once. */
const BURST_MS = 250;
const MAX_WORKSPACES = 10_000;

/** Limits each workspace to a share of a thread's time, with a token bucket. Times are milliseconds of a monotonic clock. */
export class WorkspaceShares {
  readonly #share: number;
  /** The time at which a workspace's bucket is full again. */
  readonly #fullAt = new LRUCache<string, number>({ max: MAX_WORKSPACES });

  /** `share` is in (0, 1]. */
  constructor(share: number) {
    this.#share = share;
  }

  /** Subtracts thread time that a workspace has used. */
  charge(workspaceId: string, workMs: number, nowMs: number): void {
    const fullAt = Math.max(this.#fullAt.get(workspaceId) ?? 0, nowMs);
    this.#fullAt.set(workspaceId, fullAt + workMs / this.#share);
  }

  /** Returns the time until the workspace's next job may start; 0 if it may start now. */
  waitMs(workspaceId: string, nowMs: number): number {
    return Math.max(0, (this.#fullAt.get(workspaceId) ?? 0) - BURST_MS / this.#share - nowMs);
  }
}

import { LRUCache } from "lru-cache";

const MAX_WORKSPACES = 10_000;

export type WorkspaceTimeLimiterOptions = {
  /** A workspace's share of the time, in (0, 1]. */
  share: number;
  /** The token bucket's burst: time that an idle workspace may use at once. */
  burstMs: number;
};

/** Limits each workspace to a share of the time of a thread or process, with a token bucket. Times are milliseconds of a monotonic clock. */
export class WorkspaceTimeLimiter {
  readonly #share: number;
  readonly #burstMs: number;
  /** The time at which a workspace's bucket is full again. */
  readonly #fullAt = new LRUCache<string, number>({ max: MAX_WORKSPACES });

  constructor({ share, burstMs }: WorkspaceTimeLimiterOptions) {
    this.#share = share;
    this.#burstMs = burstMs;
  }

  /** Subtracts time that a workspace has used. */
  charge(workspaceId: string, workMs: number, nowMs: number): void {
    const fullAt = Math.max(this.#fullAt.get(workspaceId) ?? 0, nowMs);
    this.#fullAt.set(workspaceId, fullAt + workMs / this.#share);
  }

  /** Returns the time until the workspace's next job may start; 0 if it may start now. */
  waitMs(workspaceId: string, nowMs: number): number {
    return Math.max(0, (this.#fullAt.get(workspaceId) ?? 0) - this.#burstMs / this.#share - nowMs);
  }
}

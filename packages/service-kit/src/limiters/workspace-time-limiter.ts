import { LRUCache } from "lru-cache";

const MAX_WORKSPACES = 10_000;

export type WorkspaceTimeLimiterOptions = {
  /** Each workspace's maximum share of the time: above 0 and at most 1. */
  share: number;
  /** The token bucket's capacity: the time that an idle workspace may use without waiting. */
  burstMs: number;
};

/** Limits with a token bucket how much of a thread's or process's time each workspace uses. Times are milliseconds of a monotonic clock. */
export class WorkspaceTimeLimiter {
  readonly #share: number;
  readonly #burstMs: number;
  /** The time at which a workspace's bucket is full again. */
  readonly #fullAtMs = new LRUCache<string, number>({ max: MAX_WORKSPACES });

  constructor({ share, burstMs }: WorkspaceTimeLimiterOptions) {
    this.#share = share;
    this.#burstMs = burstMs;
  }

  /** Subtracts `workMs`, the time that the workspace has just used, from its bucket. */
  charge(workspaceId: string, workMs: number, nowMs: number): void {
    const fullAtMs = Math.max(this.#fullAtMs.get(workspaceId) ?? 0, nowMs);
    this.#fullAtMs.set(workspaceId, fullAtMs + workMs / this.#share);
  }

  /** Returns the time until the workspace's next job may start; 0 if it may start now. */
  waitMs(workspaceId: string, nowMs: number): number {
    return Math.max(0, (this.#fullAtMs.get(workspaceId) ?? 0) - this.#burstMs / this.#share - nowMs);
  }
}

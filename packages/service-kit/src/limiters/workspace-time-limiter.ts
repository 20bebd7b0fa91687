import { LRUCache } from "lru-cache";

const MAX_WORKSPACES = 10_000;

export type WorkspaceTimeLimiterOptions = {
  /** The share of the time that a workspace may use, more than 0 and at most 1. */
  share: number;
  /** The token bucket's burst: time that an idle workspace may use without waiting. */
  burstMs: number;
};

/** Limits each workspace to a share of the time of a thread or process, with a token bucket. Times are milliseconds of a monotonic clock. */
export class WorkspaceTimeLimiter {
  readonly #share: number;
  readonly #burstMs: number;
  /** The time at which a workspace's bucket is full again. */
  readonly #fullAtMs = new LRUCache<string, number>({ max: MAX_WORKSPACES });

  constructor({ share, burstMs }: WorkspaceTimeLimiterOptions) {
    this.#share = share;
    this.#burstMs = burstMs;
  }

  /** Subtracts the time that a workspace has used, `workMs`, from the workspace's bucket. */
  charge(workspaceId: string, workMs: number, nowMs: number): void {
    const fullAtMs = Math.max(this.#fullAtMs.get(workspaceId) ?? 0, nowMs);
    this.#fullAtMs.set(workspaceId, fullAtMs + workMs / this.#share);
  }

  /** Returns the time until the workspace's next job may start; 0 if it may start now. */
  waitMs(workspaceId: string, nowMs: number): number {
    return Math.max(0, (this.#fullAtMs.get(workspaceId) ?? 0) - this.#burstMs / this.#share - nowMs);
  }
}

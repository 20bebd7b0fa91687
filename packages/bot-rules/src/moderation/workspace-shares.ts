import { LRUCache } from "lru-cache";

/** Work that a workspace may do ahead of its share, in milliseconds of a thread. */
const BURST_MS = 250;
const MAX_WORKSPACES = 10_000;

/**
 * Limits each workspace to a share of a thread's time, as a token bucket does: work that was done must be paid off by time that passes.
 * Times are milliseconds of a clock that never goes back.
 */
export class WorkspaceShares {
  readonly #share: number;
  /** When what a workspace has done is paid off. */
  readonly #paidAt = new LRUCache<string, number>({ max: MAX_WORKSPACES });

  /** `share` is in (0, 1]. */
  constructor(share: number) {
    this.#share = share;
  }

  /** Adds work that a workspace has done. */
  charge(workspaceId: string, workMs: number, nowMs: number): void {
    const paidAt = Math.max(this.#paidAt.get(workspaceId) ?? 0, nowMs);
    this.#paidAt.set(workspaceId, paidAt + workMs / this.#share);
  }

  /** Milliseconds until a workspace may work again; 0 if it may now. */
  waitMs(workspaceId: string, nowMs: number): number {
    return Math.max(0, (this.#paidAt.get(workspaceId) ?? 0) - BURST_MS / this.#share - nowMs);
  }
}

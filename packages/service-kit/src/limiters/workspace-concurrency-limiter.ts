import { LRUCache } from "lru-cache";
import pLimit, { type LimitFunction } from "p-limit";

/** How many workspaces' limits are kept. If a limit in use is evicted, its workspace may briefly exceed it. */
const MAX_WORKSPACES = 1_000;

/** Limits the concurrent work of each workspace. Work beyond the limit waits in order, and holds no database connection. */
export class WorkspaceConcurrencyLimiter {
  readonly #limits: LRUCache<string, LimitFunction>;

  constructor(maxConcurrent: number) {
    this.#limits = new LRUCache({ max: MAX_WORKSPACES, memoMethod: () => pLimit(maxConcurrent) });
  }

  /** Runs `work` when the workspace is below its limit. If the signal is aborted by then, rejects with the signal's reason instead. */
  run<T>(workspaceId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#limits.memo(workspaceId)(() => {
      signal.throwIfAborted();
      return work();
    });
  }
}

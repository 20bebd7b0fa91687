import { LRUCache } from "lru-cache";
import pLimit, { type LimitFunction } from "p-limit";

/** Maximum number of cached limiters, one per workspace. If a limiter is evicted while its work runs, the workspace may briefly exceed its limit. */
const MAX_WORKSPACES = 1_000;

/** Limits the concurrent work of each workspace in this process. Work beyond the limit waits in order. */
export class WorkspaceConcurrencyLimiter {
  readonly #limiters: LRUCache<string, LimitFunction>;

  constructor(maxConcurrent: number) {
    this.#limiters = new LRUCache({ max: MAX_WORKSPACES, memoMethod: () => pLimit(maxConcurrent) });
  }

  /** Runs `work` when the workspace is below its limit. If the signal is aborted by then, rejects with the signal's reason. */
  run<T>(workspaceId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#limiters.memo(workspaceId)(() => {
      signal.throwIfAborted();
      return work();
    });
  }
}

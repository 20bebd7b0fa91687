import { LRUCache } from "lru-cache";
import pLimit, { type LimitFunction } from "p-limit";

/** Maximum number of cached limits. If a limit is evicted while work runs under it, the workspace may briefly exceed the limit. */
const MAX_WORKSPACES = 1_000;

/** Limits the concurrent work of each workspace in this process. Work beyond the limit waits in order. */
export class WorkspaceConcurrencyLimiter {
  readonly #limits: LRUCache<string, LimitFunction>;

  constructor(maxConcurrent: number) {
    this.#limits = new LRUCache({ max: MAX_WORKSPACES, memoMethod: () => pLimit(maxConcurrent) });
  }

  /** Runs `work` when the workspace is below its limit. If the signal is aborted by then, rejects with the signal's reason. */
  run<T>(workspaceId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#limits.memo(workspaceId)(() => {
      signal.throwIfAborted();
      return work();
    });
  }
}

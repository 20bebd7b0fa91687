import { FairQueue } from "@parley/service-kit";
import type { ConcurrencyPolicy } from "../settings/index.ts";
import { ProviderFailure } from "./failure.ts";

/** One workspace alone leaves an eighth of the slots free. */
const MAX_SLOTS_PER_FREE_SLOT = 7;

/** Limits concurrent requests to a provider. Further requests wait, at most `maxQueued` of all workspaces together. */
export class ConcurrencyLimiter {
  readonly #maxQueued: number;
  readonly #queue: FairQueue;

  constructor({ maxActive, maxQueued, maxWaitMs }: ConcurrencyPolicy) {
    this.#maxQueued = maxQueued;
    this.#queue = new FairQueue({
      maxActive,
      maxActivePerFreePlace: MAX_SLOTS_PER_FREE_SLOT,
      maxWaitMs,
      createTimeoutError: () => busyFailure("queue_timeout"),
    });
  }

  /**
   * Waits for a slot. Returns a function that releases the slot. Throws ProviderFailure if the queues are full or the wait is too long, and the
   * signal's reason if the signal is aborted.
   */
  async acquire(workspaceId: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (!this.#queue.mayStart(workspaceId)) this.#makeRoom(workspaceId);
    return this.#queue.acquire(workspaceId, signal);
  }

  /**
   * If the queues are full, refuses the newest waiting request of the workspace with the longest queue. Throws if the queue of the request's own
   * workspace would become at least as long.
   */
  #makeRoom(workspaceId: string): void {
    const queues = [...this.#queue.waiting.values()];
    if (queues.reduce((sum, { size }) => sum + size, 0) < this.#maxQueued) return;
    const longest = [...queues.reduce((a, b) => (b.size > a.size ? b : a), new Set())];
    const ownLength = this.#queue.waiting.get(workspaceId)?.size ?? 0;
    if (longest.length <= ownLength + 1) throw busyFailure("queue_full");
    longest.at(-1)?.refuse(busyFailure("queue_full"));
  }
}

function busyFailure(reason: string): ProviderFailure {
  return new ProviderFailure("provider_rate_limited", reason);
}

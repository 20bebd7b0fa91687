import type { ConcurrencyPolicy } from "../settings/index.ts";
import { ProviderFailure } from "./failure.ts";

type Waiter = { grant: () => void; refuse: (error: unknown) => void };

/**
 * Limits concurrent requests to a provider. Requests beyond `maxActive` wait in one queue per workspace, at most `maxQueued` in all queues together.
 * Serves the workspaces round-robin, so that none can starve the others.
 */
export class ConcurrencyLimiter {
  readonly #policy: ConcurrencyPolicy;
  /** By workspace. The first workspace is served next. */
  readonly #queues = new Map<string, Waiter[]>();
  #active = 0;
  #queued = 0;

  constructor(policy: ConcurrencyPolicy) {
    this.#policy = policy;
  }

  /**
   * Waits for a slot. Returns a function that must be called once to release the slot. Throws ProviderFailure if the queues are full or the
   * wait is too long, and the signal's reason if the signal is aborted.
   */
  async acquire(workspaceId: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#active < this.#policy.maxActive) this.#active++;
    else await this.#wait(workspaceId, signal);
    return () => this.#release();
  }

  #wait(workspaceId: string, signal: AbortSignal): Promise<void> {
    if (this.#queued >= this.#policy.maxQueued && !this.#evictFromLongestQueue(workspaceId))
      return Promise.reject(busyFailure("queue_full"));
    return new Promise<void>((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
        finish();
      };
      const waiter: Waiter = {
        grant: () => settle(resolve),
        refuse: (error) => settle(() => reject(error)),
      };
      const stopWaiting = (error: unknown) => {
        this.#remove(workspaceId, waiter);
        waiter.refuse(error);
      };
      const cancel = () => stopWaiting(signal.reason);
      const timer = setTimeout(() => stopWaiting(busyFailure("queue_timeout")), this.#policy.maxWaitMs);
      signal.addEventListener("abort", cancel, { once: true });
      const queue = this.#queues.get(workspaceId);
      if (queue) queue.push(waiter);
      else this.#queues.set(workspaceId, [waiter]);
      this.#queued++;
    });
  }

  #release(): void {
    const next = this.#queues.entries().next().value;
    if (next === undefined) {
      this.#active--;
      return;
    }
    // Passes the slot to the first waiter of the next workspace, and moves that workspace to the end.
    const [workspaceId, queue] = next;
    const [first] = queue;
    this.#queues.delete(workspaceId);
    if (queue.length > 1) this.#queues.set(workspaceId, queue.slice(1));
    this.#queued--;
    first?.grant();
  }

  /**
   * Makes room for a request: refuses the newest waiter in the longest queue. Does nothing if the queue of the
   * request's workspace would become at least as long as the longest queue. Returns whether it made room.
   */
  #evictFromLongestQueue(workspaceId: string): boolean {
    let [longest, length] = ["", 0];
    for (const [id, queue] of this.#queues) if (queue.length > length) [longest, length] = [id, queue.length];
    const ownLength = this.#queues.get(workspaceId)?.length ?? 0;
    const newest = this.#queues.get(longest)?.at(-1);
    if (newest === undefined || length <= ownLength + 1) return false;
    this.#remove(longest, newest);
    newest.refuse(busyFailure("queue_full"));
    return true;
  }

  #remove(workspaceId: string, waiter: Waiter): void {
    const rest = (this.#queues.get(workspaceId) ?? []).filter((each) => each !== waiter);
    if (rest.length === 0) this.#queues.delete(workspaceId);
    else this.#queues.set(workspaceId, rest);
    this.#queued--;
  }
}

function busyFailure(reason: string): ProviderFailure {
  return new ProviderFailure("provider_rate_limited", reason);
}

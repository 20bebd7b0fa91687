import type { ConcurrencyPolicy } from "../settings/index.ts";
import { ProviderFailure } from "./failure.ts";

type Waiter = { grant: () => void; refuse: (error: unknown) => void };

/** A workspace gets another slot only while it has fewer than this many times the free ones. So one alone leaves an eighth of the slots free. */
const MAX_SLOTS_PER_FREE_SLOT = 7;

/**
 * Limits concurrent requests to a provider. Requests beyond `maxActive` wait in one queue per workspace, at most `maxQueued` in all queues together.
 * Serves the workspaces round-robin, and leaves slots free for workspaces that have none, so that none can starve the others.
 */
export class ConcurrencyLimiter {
  readonly #policy: ConcurrencyPolicy;
  /** By workspace. The first workspace is served next. */
  readonly #queues = new Map<string, Waiter[]>();
  readonly #activeByWorkspace = new Map<string, number>();
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
    if (this.#mayStart(workspaceId)) this.#start(workspaceId);
    else await this.#wait(workspaceId, signal);
    return () => this.#release(workspaceId);
  }

  #activeOf(workspaceId: string): number {
    return this.#activeByWorkspace.get(workspaceId) ?? 0;
  }

  #mayStart(workspaceId: string): boolean {
    const free = this.#policy.maxActive - this.#active;
    return this.#activeOf(workspaceId) < MAX_SLOTS_PER_FREE_SLOT * free;
  }

  #start(workspaceId: string): void {
    this.#active++;
    this.#activeByWorkspace.set(workspaceId, this.#activeOf(workspaceId) + 1);
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

  #release(releasing: string): void {
    this.#active--;
    const rest = this.#activeOf(releasing) - 1;
    if (rest > 0) this.#activeByWorkspace.set(releasing, rest);
    else this.#activeByWorkspace.delete(releasing);
    // A free slot may admit several workspaces that wait for free slots of others.
    for (let next = this.#nextWaiter(); next !== undefined; next = this.#nextWaiter()) {
      const [workspaceId, [first, ...others]] = next;
      // Moves the workspace to the end.
      this.#queues.delete(workspaceId);
      if (others.length > 0) this.#queues.set(workspaceId, others);
      this.#queued--;
      this.#start(workspaceId);
      first?.grant();
    }
  }

  #nextWaiter(): [workspaceId: string, queue: Waiter[]] | undefined {
    for (const entry of this.#queues) if (this.#mayStart(entry[0])) return entry;
    return undefined;
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

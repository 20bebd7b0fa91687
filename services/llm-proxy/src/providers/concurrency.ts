import type { ConcurrencyPolicy } from "../settings/index.ts";
import { ProviderFailure } from "./failure.ts";

type Waiter = { grant: () => void; refuse: (error: unknown) => void };

/** Gives up to `maxActive` calls a place at once; the others wait a short time, in turn by workspace, so that none starves the rest. */
export class Concurrency {
  readonly #policy: ConcurrencyPolicy;
  /** By workspace, in the order in which they are served next. */
  readonly #waiting = new Map<string, Waiter[]>();
  #active = 0;
  #queued = 0;

  constructor(policy: ConcurrencyPolicy) {
    this.#policy = policy;
  }

  /** Waits for a place and returns what gives it back, to be called once. Throws ProviderFailure, or the signal's reason. */
  async acquire(workspaceId: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#active < this.#policy.maxActive) this.#active++;
    else await this.#wait(workspaceId, signal);
    return () => this.#release();
  }

  #wait(workspaceId: string, signal: AbortSignal): Promise<void> {
    if (this.#queued >= this.#policy.maxQueued && !this.#makeRoom(workspaceId))
      return Promise.reject(busy("queue_full"));
    return new Promise<void>((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
        finish();
      };
      const waiter: Waiter = {
        grant: () => settle(resolve),
        refuse: (error) => settle(() => reject(error)),
      };
      const giveUp = (error: unknown) => {
        this.#remove(workspaceId, waiter);
        waiter.refuse(error);
      };
      const leave = () => giveUp(signal.reason);
      const timer = setTimeout(() => giveUp(busy("queue_timeout")), this.#policy.maxWaitMs);
      signal.addEventListener("abort", leave, { once: true });
      const queue = this.#waiting.get(workspaceId);
      if (queue) queue.push(waiter);
      else this.#waiting.set(workspaceId, [waiter]);
      this.#queued++;
    });
  }

  #release(): void {
    const next = this.#waiting.entries().next().value;
    if (next === undefined) {
      this.#active--;
      return;
    }
    // The place passes on; the workspace goes to the back with whatever it still has waiting.
    const [workspaceId, queue] = next;
    const [first] = queue;
    this.#waiting.delete(workspaceId);
    if (queue.length > 1) this.#waiting.set(workspaceId, queue.slice(1));
    this.#queued--;
    first?.grant();
  }

  /** In a full queue, the workspace with most waiting gives up its newest to one with fewer. */
  #makeRoom(workspaceId: string): boolean {
    let [longest, length] = ["", 0];
    for (const [id, queue] of this.#waiting) if (queue.length > length) [longest, length] = [id, queue.length];
    const own = this.#waiting.get(workspaceId)?.length ?? 0;
    const newest = this.#waiting.get(longest)?.at(-1);
    if (newest === undefined || length <= own + 1) return false;
    this.#remove(longest, newest);
    newest.refuse(busy("queue_full"));
    return true;
  }

  #remove(workspaceId: string, waiter: Waiter): void {
    const rest = (this.#waiting.get(workspaceId) ?? []).filter((each) => each !== waiter);
    if (rest.length === 0) this.#waiting.delete(workspaceId);
    else this.#waiting.set(workspaceId, rest);
    this.#queued--;
  }
}

function busy(reason: string): ProviderFailure {
  return new ProviderFailure("provider_rate_limited", reason);
}

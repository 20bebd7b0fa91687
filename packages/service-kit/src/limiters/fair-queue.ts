import { LRUCache } from "lru-cache";

const MAX_REMEMBERED_WORKSPACES = 1_000;

/** A job that waits for a place. */
export type Waiter = {
  readonly size: number;
  readonly sinceMs: number;
  /** Removes the job from the queue. Its `acquire` throws the error. */
  readonly refuse: (error: unknown) => void;
};

export type FairQueueOptions = {
  /** How many jobs may run at once. By default, only the jobs of one workspace are limited. */
  maxActive?: number;
  /** How many jobs of one workspace may run at once. */
  maxActiveOfWorkspace?: number;
  /** A workspace gets another place only while it has fewer than this many times the free ones, so that one alone cannot take all places. */
  maxActivePerFreePlace?: number;
  /** Returns the group of a workspace. The jobs of a group together have the limit of maxActivePerFreePlace too. */
  groupOf?: (workspaceId: string) => string | undefined;
  /** Returns the time until the workspace's next job may start. */
  delayMs?: (workspaceId: string) => number;
  maxWaitMs?: number;
  /** Creates the error of a job that has waited for maxWaitMs. */
  createTimeoutError?: (workspaceId: string) => unknown;
  /** Called with 1 when a job begins to wait, and with -1 when it no longer waits. */
  onWaiting?: ((change: 1 | -1) => void) | undefined;
};

/**
 * Admits jobs of workspaces to a limited number of places. Other jobs wait. A free place goes to the oldest job of the workspace whose last
 * job started the longest time ago, so no workspace waits for all jobs of another.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #maxActiveOfWorkspace: number;
  readonly #maxActivePerFreePlace: number;
  readonly #waiting = new Map<string, Set<Waiter & { start: (group: string | undefined) => void }>>();
  readonly #activeByWorkspace = new Map<string, number>();
  readonly #activeByGroup = new Map<string, number>();
  #maxActive: number;
  #active = 0;
  /** For each workspace, the value of #starts when its last job started. */
  readonly #lastStarts = new LRUCache<string, number>({ max: MAX_REMEMBERED_WORKSPACES });
  #starts = 0;
  /** Runs while every workspace that has a place must wait for its delay. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FairQueueOptions) {
    this.#options = options;
    this.#maxActive = options.maxActive ?? Number.POSITIVE_INFINITY;
    this.#maxActiveOfWorkspace = options.maxActiveOfWorkspace ?? Number.POSITIVE_INFINITY;
    this.#maxActivePerFreePlace = options.maxActivePerFreePlace ?? Number.POSITIVE_INFINITY;
  }

  /** The waiting jobs by workspace, oldest first. A workspace without waiting jobs is missing. */
  get waiting(): ReadonlyMap<string, ReadonlySet<Waiter>> {
    return this.#waiting;
  }

  set maxActive(maxActive: number) {
    this.#maxActive = maxActive;
    this.#startWaiting();
  }

  activeOf(workspaceId: string): number {
    return this.#activeByWorkspace.get(workspaceId) ?? 0;
  }

  /** Returns whether the workspace's next job would start without waiting. */
  mayStart(workspaceId: string): boolean {
    return !this.#waiting.has(workspaceId) && this.#hasPlace(workspaceId) && this.#delayMs(workspaceId) <= 0;
  }

  /**
   * Waits for a place. Returns a function that frees it; further calls of the function have no effect. Throws the signal's reason if the signal
   * is aborted by then.
   */
  async acquire(workspaceId: string, signal: AbortSignal | undefined, size = 0): Promise<() => void> {
    signal?.throwIfAborted();
    const group = this.mayStart(workspaceId)
      ? this.#countStart(workspaceId)
      : await this.#wait(workspaceId, signal, size);
    let isFreed = false;
    const free = () => {
      if (isFreed) return;
      isFreed = true;
      this.#countEnd(workspaceId, group);
    };
    if (!signal?.aborted) return free;
    free();
    throw signal.reason;
  }

  /** Waits for a place, then runs `work` in it. */
  async run<T>(workspaceId: string, signal: AbortSignal | undefined, work: () => Promise<T>, size = 0): Promise<T> {
    const free = await this.acquire(workspaceId, signal, size);
    try {
      return await work();
    } finally {
      free();
    }
  }

  #hasPlace(workspaceId: string): boolean {
    const free = this.#maxActive - this.#active;
    const limit = Math.min(this.#maxActiveOfWorkspace, this.#maxActivePerFreePlace * free);
    if (free <= 0 || this.activeOf(workspaceId) >= limit) return false;
    const group = this.#options.groupOf?.(workspaceId);
    return group === undefined || (this.#activeByGroup.get(group) ?? 0) < this.#maxActivePerFreePlace * free;
  }

  #delayMs(workspaceId: string): number {
    return this.#options.delayMs?.(workspaceId) ?? 0;
  }

  /** Returns the job's group, for #countEnd: the workspace's group may change while the job runs. */
  #countStart(workspaceId: string): string | undefined {
    this.#active++;
    const group = this.#options.groupOf?.(workspaceId);
    if (group !== undefined) addTo(this.#activeByGroup, group, 1);
    addTo(this.#activeByWorkspace, workspaceId, 1);
    this.#lastStarts.set(workspaceId, ++this.#starts);
    return group;
  }

  #countEnd(workspaceId: string, group: string | undefined): void {
    this.#active--;
    addTo(this.#activeByWorkspace, workspaceId, -1);
    if (group !== undefined) addTo(this.#activeByGroup, group, -1);
    this.#startWaiting();
  }

  #wait(workspaceId: string, signal: AbortSignal | undefined, size: number): Promise<string | undefined> {
    const { maxWaitMs, createTimeoutError, onWaiting } = this.#options;
    const waiters = this.#waiting.get(workspaceId) ?? new Set();
    this.#waiting.set(workspaceId, waiters);
    return new Promise((resolve, reject) => {
      const leave = (settle: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        waiters.delete(waiter);
        if (waiters.size === 0) this.#waiting.delete(workspaceId);
        onWaiting?.(-1);
        settle();
      };
      const refuse = (error: unknown) => leave(() => reject(error));
      const start = (group: string | undefined) => leave(() => resolve(group));
      const waiter = { size, sinceMs: performance.now(), start, refuse };
      const onAbort = () => refuse(signal?.reason);
      const timer =
        maxWaitMs === undefined ? undefined : setTimeout(() => refuse(createTimeoutError?.(workspaceId)), maxWaitMs);
      signal?.addEventListener("abort", onAbort);
      waiters.add(waiter);
      onWaiting?.(1);
      this.#startWaiting();
    });
  }

  /** Starts waiting jobs while there are places for them. */
  #startWaiting(): void {
    if (this.#waiting.size === 0) return;
    clearTimeout(this.#timer);
    for (let next = this.#findNext(); next !== undefined; next = this.#findNext()) {
      const [oldest] = this.#waiting.get(next) ?? [];
      oldest?.start(this.#countStart(next));
    }
  }

  #findNext(): string | undefined {
    let next: string | undefined;
    let shortestDelayMs = Number.POSITIVE_INFINITY;
    for (const workspaceId of this.#waiting.keys()) {
      if (!this.#hasPlace(workspaceId)) continue;
      const delayMs = this.#delayMs(workspaceId);
      if (delayMs > 0) shortestDelayMs = Math.min(shortestDelayMs, delayMs);
      else if (next === undefined || this.#lastStartOf(workspaceId) < this.#lastStartOf(next)) next = workspaceId;
    }
    if (next === undefined && shortestDelayMs < Number.POSITIVE_INFINITY)
      this.#timer = setTimeout(() => this.#startWaiting(), Math.ceil(shortestDelayMs)).unref();
    return next;
  }

  #lastStartOf(workspaceId: string): number {
    return this.#lastStarts.get(workspaceId) ?? 0;
  }
}

function addTo(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}

import { FairQueue, ServiceError, WorkspaceTimeLimiter } from "@parley/service-kit";

const MAX_WAITING_BYTES = 16 * 1024 * 1024;
const MAX_WAIT_MS = 60_000;
/**
 * Limits the time spent on a workspace's documents that cannot be fetched or read, or whose caller cancels. Without the limit, they could keep
 * a core busy and block other workspaces.
 */
const UNREADABLE_TIME_LIMIT = { share: 0.1, burstMs: 5_000 };

export type DocumentQueueOptions = {
  maxWaitMs?: number;
  unreadableTimeLimit?: typeof UNREADABLE_TIME_LIMIT;
  /** How many documents are processed at once. */
  maxRunning?: number;
  maxRunningPerWorkspace?: number;
};

export type QueuedDocument = { workspaceId: string; bytes: number; signal: AbortSignal };

/**
 * Processes documents, by default one at a time, because the service's memory limit has no room to read two. No workspace waits for all
 * documents of another.
 */
export class DocumentQueue {
  readonly #queue: FairQueue;
  readonly #timeLimiter: WorkspaceTimeLimiter;

  constructor(options: DocumentQueueOptions = {}) {
    const { maxWaitMs = MAX_WAIT_MS, unreadableTimeLimit = UNREADABLE_TIME_LIMIT } = options;
    const { maxRunning = 1, maxRunningPerWorkspace = maxRunning } = options;
    this.#timeLimiter = new WorkspaceTimeLimiter(unreadableTimeLimit);
    this.#queue = new FairQueue({
      maxActive: maxRunning,
      maxActiveOfWorkspace: maxRunningPerWorkspace,
      delayMs: (workspaceId) => this.#timeLimiter.waitMs(workspaceId, performance.now()),
      maxWaitMs,
      createTimeoutError: (workspaceId) => this.#createRefusal(workspaceId),
    });
  }

  /**
   * Waits until this document is next, then runs `task`. Throws resource_exhausted after waiting 60 s, and immediately if the waiting documents
   * and this one exceed 16 MiB.
   */
  async run<T>({ workspaceId, bytes, signal }: QueuedDocument, task: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const waiting = [...this.#queue.waiting.values()].flatMap((each) => [...each]);
    if (waiting.reduce((sum, { size }) => sum + size, bytes) > MAX_WAITING_BYTES)
      throw this.#createRefusal(workspaceId);
    const chargedTask = async () => {
      const startedAtMs = performance.now();
      try {
        return await task();
      } catch (error) {
        const now = performance.now();
        if (signal.aborted || (error instanceof ServiceError && error.kind === "invalid_argument"))
          this.#timeLimiter.charge(workspaceId, now - startedAtMs, now);
        throw error;
      }
    };
    return this.#queue.run(workspaceId, signal, chargedTask, bytes);
  }

  #createRefusal(workspaceId: string): ServiceError {
    const waitMs = this.#timeLimiter.waitMs(workspaceId, performance.now());
    const message =
      waitMs > 0
        ? `this workspace's last documents could not be fetched or read and took too long: try again in ${Math.ceil(waitMs / 1_000)} s`
        : "other documents are being added: try again in a minute, or add your documents one after the other";
    return new ServiceError("resource_exhausted", "too_many_documents", message);
  }
}

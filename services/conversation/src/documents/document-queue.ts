import { ServiceError, WorkspaceTimeLimiter } from "@parley/service-kit";
import { LRUCache } from "lru-cache";

const MAX_WAITING_BYTES = 16 * 1024 * 1024;
const MAX_WAIT_MS = 60_000;
const MAX_REMEMBERED_WORKSPACES = 1_000;
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

type WaitingDocument = { workspaceId: string; bytes: number; start: () => void };

/**
 * Processes documents, by default one at a time, because the service's memory limit has no room to read two. Serves the workspaces round-robin,
 * so that none waits for all documents of another.
 */
export class DocumentQueue {
  readonly #maxWaitMs: number;
  readonly #maxRunning: number;
  readonly #maxRunningPerWorkspace: number;
  readonly #timeLimiter: WorkspaceTimeLimiter;
  /** In order of arrival. */
  readonly #waiting = new Set<WaitingDocument>();
  /** For each workspace, the value of #starts when its last document was started. */
  readonly #lastStarts = new LRUCache<string, number>({ max: MAX_REMEMBERED_WORKSPACES });
  /** The number of documents started so far. */
  #starts = 0;
  /** The workspaces of the documents that are being processed. */
  readonly #running: string[] = [];
  /** Runs while each waiting workspace has used up its time for unreadable documents. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DocumentQueueOptions = {}) {
    const { maxWaitMs = MAX_WAIT_MS, unreadableTimeLimit = UNREADABLE_TIME_LIMIT } = options;
    const { maxRunning = 1, maxRunningPerWorkspace = maxRunning } = options;
    this.#maxWaitMs = maxWaitMs;
    this.#maxRunning = maxRunning;
    this.#maxRunningPerWorkspace = maxRunningPerWorkspace;
    this.#timeLimiter = new WorkspaceTimeLimiter(unreadableTimeLimit);
  }

  /**
   * Waits until this document is next, then runs `task`. Throws resource_exhausted after waiting 60 s. While another document is being
   * processed or waits for its turn, throws resource_exhausted immediately if the waiting documents and this one exceed 16 MiB.
   */
  async run<T>({ workspaceId, bytes, signal }: QueuedDocument, task: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const waitingBytes = [...this.#waiting].reduce((sum, each) => sum + each.bytes, bytes);
    if ((this.#running.length > 0 || this.#waiting.size > 0) && waitingBytes > MAX_WAITING_BYTES)
      throw this.#createRefusal(workspaceId);
    await this.#waitForSlot(workspaceId, bytes, signal);
    const startedAtMs = performance.now();
    try {
      return await task();
    } catch (error) {
      const now = performance.now();
      if (signal.aborted || (error instanceof ServiceError && error.kind === "invalid_argument"))
        this.#timeLimiter.charge(workspaceId, now - startedAtMs, now);
      throw error;
    } finally {
      this.#running.splice(this.#running.indexOf(workspaceId), 1);
      this.#startNext();
    }
  }

  async #waitForSlot(workspaceId: string, bytes: number, signal: AbortSignal): Promise<void> {
    const slot = Promise.withResolvers<void>();
    const waiting: WaitingDocument = { workspaceId, bytes, start: slot.resolve };
    const waitEnd = AbortSignal.any([signal, AbortSignal.timeout(this.#maxWaitMs)]);
    const stopWaiting = () => {
      this.#waiting.delete(waiting);
      slot.reject(signal.aborted ? signal.reason : this.#createRefusal(workspaceId));
    };
    waitEnd.addEventListener("abort", stopWaiting, { once: true });
    this.#waiting.add(waiting);
    this.#startNext();
    try {
      await slot.promise;
    } finally {
      waitEnd.removeEventListener("abort", stopWaiting);
    }
  }

  #startNext(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    while (this.#running.length < this.#maxRunning) {
      const candidates = [...this.#waiting].filter(({ workspaceId }) => this.#mayRun(workspaceId));
      const waits = candidates.map(({ workspaceId }) => this.#timeLimiter.waitMs(workspaceId, now));
      const next = this.#findLongestUnserved(candidates.filter((_, index) => waits[index] === 0));
      if (next === undefined) {
        if (waits.length > 0) this.#timer = setTimeout(() => this.#startNext(), Math.ceil(Math.min(...waits)));
        return;
      }
      this.#waiting.delete(next);
      this.#lastStarts.set(next.workspaceId, ++this.#starts);
      this.#running.push(next.workspaceId);
      next.start();
    }
  }

  #mayRun(workspaceId: string): boolean {
    return this.#running.filter((each) => each === workspaceId).length < this.#maxRunningPerWorkspace;
  }

  /** Returns the first document of the workspace that was served the longest time ago, or never. */
  #findLongestUnserved(documents: readonly WaitingDocument[]): WaitingDocument | undefined {
    const lastStart = ({ workspaceId }: WaitingDocument) => this.#lastStarts.get(workspaceId) ?? 0;
    return documents.toSorted((a, b) => lastStart(a) - lastStart(b))[0];
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

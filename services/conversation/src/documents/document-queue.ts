import { ServiceError, WorkspaceShares } from "@parley/service-kit";
import { UNREADABLE_DOCUMENT } from "./document.ts";

const MAX_WAITING_BYTES = 16 * 1024 * 1024;
const MAX_WAIT_MS = 60_000;
/**
 * Limits the time that a workspace's documents may take if they cannot be read or their caller cancels: `burstMs` at once, then a tenth
 * of the time. So repeated slow documents neither keep a core busy nor block other workspaces. The time of readable documents is free.
 */
const UNREADABLE_SHARES = { share: 0.1, burstMs: 5_000 };

export type DocumentQueueOptions = { maxWaitMs?: number; unreadableShares?: typeof UNREADABLE_SHARES };

/** `signal` is aborted when the caller cancels. */
export type QueuedDocument = { workspaceId: string; bytes: number; signal: AbortSignal };

type Waiting = { workspaceId: string; bytes: number; start: () => void };

/** Processes documents one at a time, because the service's memory limit has no room for two. */
export class DocumentQueue {
  readonly #maxWaitMs: number;
  readonly #shares: WorkspaceShares;
  /** In order of arrival. */
  readonly #waiting = new Set<Waiting>();
  #isBusy = false;
  /** Starts a document when its workspace has regained its share. */
  #timer: NodeJS.Timeout | undefined;

  constructor({ maxWaitMs = MAX_WAIT_MS, unreadableShares = UNREADABLE_SHARES }: DocumentQueueOptions = {}) {
    this.#maxWaitMs = maxWaitMs;
    this.#shares = new WorkspaceShares(unreadableShares);
  }

  /**
   * Runs `add` when all earlier documents are done and the workspace's share permits it. Throws resource_exhausted after waiting 60 s, or
   * at once if the waiting documents, including this one, would exceed 16 MiB.
   */
  async run<T>({ workspaceId, bytes, signal }: QueuedDocument, add: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const waitingBytes = [...this.#waiting].reduce((sum, each) => sum + each.bytes, bytes);
    if ((this.#isBusy || this.#waiting.size > 0) && waitingBytes > MAX_WAITING_BYTES) throw this.#refusal(workspaceId);
    await this.#turn(workspaceId, bytes, signal);
    const startedAtMs = performance.now();
    try {
      return await add();
    } catch (error) {
      const now = performance.now();
      if (signal.aborted || (error instanceof ServiceError && error.code === UNREADABLE_DOCUMENT))
        this.#shares.charge(workspaceId, now - startedAtMs, now);
      throw error;
    } finally {
      this.#isBusy = false;
      this.#startNext();
    }
  }

  /** Waits until the document may start. */
  async #turn(workspaceId: string, bytes: number, signal: AbortSignal): Promise<void> {
    const slot = Promise.withResolvers<void>();
    const waiting: Waiting = { workspaceId, bytes, start: slot.resolve };
    const waitEnd = AbortSignal.any([signal, AbortSignal.timeout(this.#maxWaitMs)]);
    const stopWaiting = () => {
      this.#waiting.delete(waiting);
      slot.reject(signal.aborted ? signal.reason : this.#refusal(workspaceId));
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
    if (this.#isBusy) return;
    const now = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      const untilPermittedMs = this.#shares.waitMs(waiting.workspaceId, now);
      nextMs = Math.min(nextMs, untilPermittedMs);
      if (untilPermittedMs > 0) continue;
      this.#waiting.delete(waiting);
      this.#isBusy = true;
      waiting.start();
      return;
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#timer = setTimeout(() => this.#startNext(), Math.ceil(nextMs));
  }

  #refusal(workspaceId: string): ServiceError {
    const waitMs = this.#shares.waitMs(workspaceId, performance.now());
    const message =
      waitMs > 0
        ? `this workspace's last documents could not be read and took too long: try again in ${Math.ceil(waitMs / 1_000)} s`
        : "other documents are being added: try again in a minute, or add them one after the other";
    return new ServiceError("resource_exhausted", "too_many_documents", message);
  }
}

import { ServiceError } from "@parley/service-kit";

const MAX_WAITING_BYTES = 16 * 1024 * 1024;
const MAX_WAIT_MS = 60_000;

type Document = { bytes: number; start: () => void };

/** Processes documents one at a time, because the service's memory limit has no room for two. */
export class DocumentQueue {
  readonly #maxWaitMs: number;
  /** In order of arrival. The first one is being processed. */
  readonly #documents = new Set<Document>();

  constructor(maxWaitMs = MAX_WAIT_MS) {
    this.#maxWaitMs = maxWaitMs;
  }

  /**
   * Runs `add` when all earlier documents are done. Throws resource_exhausted after waiting 60 s, or at once if the waiting documents,
   * including the `bytes` of this one, would exceed 16 MiB.
   */
  async run<T>(bytes: number, signal: AbortSignal, add: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const [current, ...waiting] = this.#documents;
    const waitingBytes = waiting.reduce((sum, each) => sum + each.bytes, bytes);
    if (current !== undefined && waitingBytes > MAX_WAITING_BYTES) throw tooManyDocuments();
    const slot = Promise.withResolvers<void>();
    const document = { bytes, start: slot.resolve };
    const waitEnd = AbortSignal.any([signal, AbortSignal.timeout(this.#maxWaitMs)]);
    const stopWaiting = () => slot.reject(signal.aborted ? signal.reason : tooManyDocuments());
    waitEnd.addEventListener("abort", stopWaiting, { once: true });
    this.#documents.add(document);
    this.#startFirst();
    try {
      await slot.promise;
      return await add();
    } finally {
      waitEnd.removeEventListener("abort", stopWaiting);
      this.#documents.delete(document);
      this.#startFirst();
    }
  }

  #startFirst(): void {
    const [first] = this.#documents;
    first?.start();
  }
}

function tooManyDocuments(): ServiceError {
  const message = "other documents are being added: try again in a minute, or add them one after the other";
  return new ServiceError("resource_exhausted", "too_many_documents", message);
}

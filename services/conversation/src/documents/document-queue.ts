import { ServiceError } from "@parley/service-kit";

const MAX_WAITING_BYTES = 16 * 1024 * 1024;
const MAX_WAIT_MS = 60_000;

type Document = { bytes: number; begin: () => void };

/** Adds documents one after the other, because the memory of two would be too much for the service. */
export class DocumentQueue {
  readonly #maxWaitMs: number;
  /** In the order of their arrival; the first one is being added. */
  readonly #documents = new Set<Document>();

  constructor(maxWaitMs = MAX_WAIT_MS) {
    this.#maxWaitMs = maxWaitMs;
  }

  /**
   * Runs `add` when all earlier documents are done. Throws resource_exhausted after a wait of 60 s, or at once if the contents of the
   * documents that wait, `bytes` of them this one's, would exceed 16 MiB.
   */
  async run<T>(bytes: number, signal: AbortSignal, add: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const [current, ...waiting] = this.#documents;
    const waitingBytes = waiting.reduce((sum, each) => sum + each.bytes, bytes);
    if (current !== undefined && waitingBytes > MAX_WAITING_BYTES) throw tooManyDocuments();
    const turn = Promise.withResolvers<void>();
    const document = { bytes, begin: turn.resolve };
    const ended = AbortSignal.any([signal, AbortSignal.timeout(this.#maxWaitMs)]);
    const leave = () => turn.reject(signal.aborted ? signal.reason : tooManyDocuments());
    ended.addEventListener("abort", leave, { once: true });
    this.#documents.add(document);
    this.#beginFirst();
    try {
      await turn.promise;
      return await add();
    } finally {
      ended.removeEventListener("abort", leave);
      this.#documents.delete(document);
      this.#beginFirst();
    }
  }

  #beginFirst(): void {
    const [first] = this.#documents;
    first?.begin();
  }
}

function tooManyDocuments(): ServiceError {
  const message = "other documents are being added: try again in a minute, or add them one after the other";
  return new ServiceError("resource_exhausted", "too_many_documents", message);
}

import { type Egress, type Logger, ServiceError } from "@parley/service-kit";
import { DocumentQueue } from "./document-queue.ts";
import { type FetchDocumentOptions, fetchDocument } from "./fetch-document.client.ts";
import type { RawDocument } from "./reader-process/read-document.client.ts";

const MiB = 1024 * 1024;
/** A request that waits for a slow server takes a place but little memory. The bounds on bytes limit the memory. */
const MAX_FETCHES = 16;
const MAX_FETCHES_PER_WORKSPACE = 2;
/** How long a request for a URL may wait for its place. */
const MAX_WAIT_MS = 30_000;
/** Fetches take no CPU time, so a failed one costs other workspaces less than an unreadable document does. */
const FAILED_TIME_LIMIT = { share: 0.5, burstMs: 60_000 };
/** The fetched content in memory, from its first byte until the document is read: of the process and of a workspace. */
const MAX_HELD_BYTES = 32 * MiB;
const MAX_HELD_BYTES_PER_WORKSPACE = 20 * MiB;

export type FetchRequest = { workspaceId: string; url: string; signal: AbortSignal };

export type DocumentFetcherOptions = {
  egress: Egress;
  log: Logger;
  maxBytes: number;
  timeoutMs?: number;
  maxHeldBytes?: number;
};

/**
 * Fetches documents from their URLs, several at once. A slow server delays only its own workspace: a workspace has two places of 16, free places
 * go to the workspaces in turn, and each fetch ends within 20 s.
 */
export class DocumentFetcher {
  readonly #options: DocumentFetcherOptions;
  readonly #queue = new DocumentQueue({
    maxRunning: MAX_FETCHES,
    maxRunningPerWorkspace: MAX_FETCHES_PER_WORKSPACE,
    maxWaitMs: MAX_WAIT_MS,
    unreadableTimeLimit: FAILED_TIME_LIMIT,
  });
  readonly #heldBytes = new Map<string, number>();

  constructor(options: DocumentFetcherOptions) {
    this.#options = options;
  }

  /** Fetches a document and passes it to `use`, as withFetched does. */
  withDocument<T>({ url, ...request }: FetchRequest, use: (raw: RawDocument) => Promise<T>): Promise<T> {
    return this.withFetched(request, (options) => fetchDocument(url, options), use);
  }

  /**
   * Fetches with a function of fetch-document.client.ts and passes the result to `use`. Its bytes count as held until `use` ends. Throws resource_exhausted if the request waits for 30 s,
   * or if the workspace or the process holds too many bytes.
   */
  async withFetched<F, T>(
    { workspaceId, signal }: Omit<FetchRequest, "url">,
    fetch: (options: FetchDocumentOptions) => Promise<F>,
    use: (fetched: F) => Promise<T>,
  ): Promise<T> {
    let ownBytes = 0;
    const onBytes = (bytes: number) => {
      this.#hold(workspaceId, bytes);
      ownBytes += bytes;
    };
    try {
      const fetched = await this.#queue.run({ workspaceId, bytes: 0, signal }, () =>
        fetch({ ...this.#options, signal, onBytes }),
      );
      return await use(fetched);
    } finally {
      this.#release(workspaceId, ownBytes);
    }
  }

  #hold(workspaceId: string, bytes: number): void {
    const { maxHeldBytes = MAX_HELD_BYTES } = this.#options;
    const ofWorkspace = (this.#heldBytes.get(workspaceId) ?? 0) + bytes;
    const total = [...this.#heldBytes.values()].reduce((sum, each) => sum + each, bytes);
    if (total > maxHeldBytes || ofWorkspace > MAX_HELD_BYTES_PER_WORKSPACE)
      throw new ServiceError(
        "resource_exhausted",
        "too_many_documents",
        "other documents are being fetched: try again in a minute, or add your documents one after the other",
      );
    this.#heldBytes.set(workspaceId, ofWorkspace);
  }

  #release(workspaceId: string, bytes: number): void {
    const left = (this.#heldBytes.get(workspaceId) ?? 0) - bytes;
    if (left > 0) this.#heldBytes.set(workspaceId, left);
    else this.#heldBytes.delete(workspaceId);
  }
}

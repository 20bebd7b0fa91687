import { ServiceError } from "../errors.ts";
import { FairQueue } from "./fair-queue.ts";

/**
 * How many calls with a small body one workspace may run at once in a process. A call with a large body may run in addition. The limit leaves
 * database connections for other workspaces: by default, conversation's main pool has eight, and quota's pool has ten.
 */
const MAX_SMALL_CALLS_PER_WORKSPACE = 4;
/**
 * How many calls with a large body the process may run at once. A call's memory includes its JSON body of up to 24 MiB and the decoded content.
 */
const MAX_UPLOADS = 4;
/** A body that is larger, is compressed or has no valid Content-Length counts as large. */
const SMALL_BODY_BYTES = 256 * 1024;
/** The longest wait of a call with a large body. After a longer wait, proxies would time out and end the request without an error code. */
export const MAX_UPLOAD_WAIT_MS = 20_000;

/** The size and compression of a body, as the headers of its request declare them. */
export type DeclaredBody = {
  /** The Content-Length header. */
  contentLength: string | undefined | null;
  isCompressed: boolean;
};

/** Limits the admin calls of workspaces' members, so that one workspace cannot use up the memory or the database connections of a process. */
export class MemberCallLimiter {
  readonly #calls = new FairQueue({ maxActiveOfWorkspace: MAX_SMALL_CALLS_PER_WORKSPACE });
  readonly #uploads: FairQueue;

  constructor(maxUploadWaitMs = MAX_UPLOAD_WAIT_MS) {
    this.#uploads = new FairQueue({
      maxActive: MAX_UPLOADS,
      maxActiveOfWorkspace: 1,
      maxWaitMs: maxUploadWaitMs,
      createTimeoutError: () =>
        new ServiceError(
          "resource_exhausted",
          "too_many_documents",
          "other documents are being uploaded: try again in a minute, or upload your documents one after the other",
        ),
    });
  }

  /**
   * Waits until a call's body may be read. The call then counts towards the limits until `ended` is aborted. If `ended` is aborted during the
   * wait, rejects with its reason. Rejects with the code `too_many_documents` if a call with a large body has waited for too long.
   */
  async enter(workspaceId: string, body: DeclaredBody, ended: AbortSignal): Promise<void> {
    const free = await (isSmall(body) ? this.#calls : this.#uploads).acquire(workspaceId, ended);
    ended.addEventListener("abort", free, { once: true });
  }
}

function isSmall({ contentLength, isCompressed }: DeclaredBody): boolean {
  const isDeclared = typeof contentLength === "string" && /^\d+$/.test(contentLength);
  return isDeclared && !isCompressed && Number(contentLength) <= SMALL_BODY_BYTES;
}

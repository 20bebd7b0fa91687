import pLimit from "p-limit";
import { ServiceError } from "../errors.ts";
import { WorkspaceConcurrencyLimiter } from "./workspace-concurrency-limiter.ts";

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
  readonly #calls = new WorkspaceConcurrencyLimiter(MAX_SMALL_CALLS_PER_WORKSPACE);
  readonly #workspaceUploads = new WorkspaceConcurrencyLimiter(1);
  readonly #uploads = pLimit(MAX_UPLOADS);
  readonly #maxUploadWaitMs: number;

  constructor(maxUploadWaitMs = MAX_UPLOAD_WAIT_MS) {
    this.#maxUploadWaitMs = maxUploadWaitMs;
  }

  /**
   * Waits until a call's body may be read. The call then counts towards the limits until `ended` is aborted. If `ended` is aborted during the
   * wait, rejects with its reason. Rejects with the code `too_many_documents` if a call with a large body has waited for too long. After a
   * rejection, the call no longer delays other calls.
   */
  enter(workspaceId: string, body: DeclaredBody, ended: AbortSignal): Promise<void> {
    const admission = Promise.withResolvers<void>();
    /** Resolves when the call no longer needs a place: it has ended or was refused. */
    const departure = Promise.withResolvers<void>();
    const leave = (reason: unknown) => {
      clearTimeout(timer);
      admission.reject(reason);
      departure.resolve();
    };
    const isUpload = !isSmall(body);
    const refuse = () => {
      const message =
        "other documents are being uploaded: try again in a minute, or upload your documents one after the other";
      leave(new ServiceError("resource_exhausted", "too_many_documents", message));
    };
    const timer = isUpload ? setTimeout(refuse, this.#maxUploadWaitMs).unref() : undefined;
    if (ended.aborted) leave(ended.reason);
    else ended.addEventListener("abort", () => leave(ended.reason), { once: true });
    const holdPlace = () => {
      clearTimeout(timer);
      admission.resolve();
      return departure.promise;
    };
    // The race frees the workspace's place if the call leaves while it waits for one of the process's MAX_UPLOADS places.
    const holdPlaces = () => Promise.race([this.#uploads(holdPlace), departure.promise]);
    const finished = isUpload
      ? this.#workspaceUploads.run(workspaceId, ended, holdPlaces)
      : this.#calls.run(workspaceId, ended, holdPlace);
    finished.catch(admission.reject);
    return admission.promise;
  }
}

function isSmall({ contentLength, isCompressed }: DeclaredBody): boolean {
  const isDeclared = typeof contentLength === "string" && /^\d+$/.test(contentLength);
  return isDeclared && !isCompressed && Number(contentLength) <= SMALL_BODY_BYTES;
}

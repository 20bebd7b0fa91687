import pLimit from "p-limit";
import { WorkspaceConcurrencyLimiter } from "./workspace-concurrency-limiter.ts";

/**
 * How many calls with a small body one workspace may run at once. An upload may run beside them. Leaves connections of the pool to other
 * workspaces: by default, conversation's main pool has eight, and quota's pool has ten.
 */
const MAX_SMALL_CALLS_PER_WORKSPACE = 4;
/**
 * How many calls with a large body all workspaces together may run at once. Each uses up to 60 MiB of memory: a JSON body of 24 MiB, and its
 * decoded content.
 */
const MAX_UPLOADS = 4;
const SMALL_BODY_BYTES = 256 * 1024;

/** The body that the headers of a request declare. */
export type DeclaredBody = {
  /** The Content-Length header; undefined or null without it. */
  contentLength: string | undefined | null;
  isCompressed: boolean;
};

/**
 * Limits the admin calls of workspaces' members, so that one workspace cannot use up a process's memory or its database connections. A call
 * waits before its body is read.
 */
export class MemberCallLimiter {
  readonly #calls = new WorkspaceConcurrencyLimiter(MAX_SMALL_CALLS_PER_WORKSPACE);
  readonly #workspaceUploads = new WorkspaceConcurrencyLimiter(1);
  readonly #uploads = pLimit(MAX_UPLOADS);

  /** Waits until a call's body may be read. The call then counts until `ended` is aborted. Rejects if `ended` is aborted during the wait. */
  enter(workspaceId: string, body: DeclaredBody, ended: AbortSignal): Promise<void> {
    const admission = Promise.withResolvers<void>();
    const holdPlace = async () => {
      ended.throwIfAborted();
      const end = Promise.withResolvers<void>();
      ended.addEventListener("abort", () => end.resolve(), { once: true });
      admission.resolve();
      await end.promise;
    };
    const finished = isSmall(body)
      ? this.#calls.run(workspaceId, ended, holdPlace)
      : this.#workspaceUploads.run(workspaceId, ended, () => this.#uploads(holdPlace));
    finished.catch(admission.reject);
    return admission.promise;
  }
}

function isSmall({ contentLength, isCompressed }: DeclaredBody): boolean {
  const isDeclared = typeof contentLength === "string" && /^\d+$/.test(contentLength);
  return isDeclared && !isCompressed && Number(contentLength) <= SMALL_BODY_BYTES;
}

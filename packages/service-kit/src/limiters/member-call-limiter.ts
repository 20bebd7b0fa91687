import pLimit from "p-limit";
import { WorkspaceConcurrencyLimiter } from "./workspace-concurrency-limiter.ts";

/** A workspace's calls with a small body that run at once. With the default ten connections, six stay free for other workspaces. */
const MAX_CALLS = 4;
/** Calls of all workspaces with a large body that run at once. Each occupies up to 60 MiB: a body of 24 MiB in JSON, and its content. */
const MAX_UPLOADS = 4;
const SMALL_BODY_BYTES = 256 * 1024;

/** The body that the headers of a request declare. */
export type DeclaredBody = {
  /** The Content-Length header; undefined or null without it. */
  contentLength: string | undefined | null;
  isCompressed: boolean;
};

/**
 * Limits the admin calls of workspaces' members, so that one workspace can neither use up a process's memory nor its connections to the
 * database. A call waits before its body is read.
 */
export class MemberCallLimiter {
  readonly #calls = new WorkspaceConcurrencyLimiter(MAX_CALLS);
  readonly #workspaceUploads = new WorkspaceConcurrencyLimiter(1);
  readonly #uploads = pLimit(MAX_UPLOADS);

  /** Waits until a call may be read. The call then occupies its place until `ended` is aborted. Rejects if that happens first. */
  enter(workspaceId: string, body: DeclaredBody, ended: AbortSignal): Promise<void> {
    const entered = Promise.withResolvers<void>();
    const occupy = async () => {
      ended.throwIfAborted();
      const end = Promise.withResolvers<void>();
      ended.addEventListener("abort", () => end.resolve(), { once: true });
      entered.resolve();
      await end.promise;
    };
    const occupied = isSmall(body)
      ? this.#calls.run(workspaceId, ended, occupy)
      : this.#workspaceUploads.run(workspaceId, ended, () => this.#uploads(occupy));
    occupied.catch(entered.reject);
    return entered.promise;
  }
}

function isSmall({ contentLength, isCompressed }: DeclaredBody): boolean {
  const isDeclared = typeof contentLength === "string" && /^\d+$/.test(contentLength);
  return isDeclared && !isCompressed && Number(contentLength) <= SMALL_BODY_BYTES;
}

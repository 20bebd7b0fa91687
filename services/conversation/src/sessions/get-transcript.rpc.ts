import type { GetTranscriptRequest } from "@parley/rpc/conversation";
import { isUuid, isWorkspaceId } from "@parley/service-kit";
import { exportSession } from "./export-session.store.ts";
import type { OwnerReadPool } from "./owner-read-pool.ts";
import { sessionNotFound } from "./session-not-found.ts";

/** Keeps buffers small. A gRPC message may have 16 MiB. */
const MAX_PIECE_BYTES = 256 * 1024;

/**
 * Streams a session's transcript. Returns early if the signal is aborted. Throws session_not_found, with the same message for a missing,
 * deleted or erased session and for a session of another workspace.
 */
export async function* handleGetTranscript(
  { database, limiter, pacer }: OwnerReadPool,
  { workspaceId, sessionId, withReviews }: GetTranscriptRequest,
  signal: AbortSignal,
): AsyncGenerator<{ json: Uint8Array }> {
  if (!isWorkspaceId(workspaceId) || !isUuid(sessionId)) throw sessionNotFound();
  let isMissing = true;
  const run = pacer.pace((statement) => limiter.run(workspaceId, signal, statement), signal);
  const options = { run, withReviews, withVerification: withReviews };
  for await (const piece of exportSession(database, workspaceId, sessionId, options)) {
    if (signal.aborted) return;
    isMissing = false;
    const bytes = Buffer.from(piece);
    for (let start = 0; start < bytes.length; start += MAX_PIECE_BYTES)
      yield { json: bytes.subarray(start, start + MAX_PIECE_BYTES) };
  }
  if (isMissing) throw sessionNotFound();
}

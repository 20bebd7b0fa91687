import { type Database, isUuid, isWorkspaceId } from "@parley/service-kit";
import { exportSession } from "./export-session.store.ts";
import { sessionNotFound } from "./session-not-found.ts";

/** A message of the data plane holds at most 16 MiB; smaller ones keep less in the buffers on the way. */
const MAX_PIECE_BYTES = 256 * 1024;

/**
 * Streams a transcript's JSON document, for as long as somebody reads it. Every session that is not to be had is missing in the same
 * words.
 */
export async function* handleExportSession(
  database: Database,
  { workspaceId, sessionId }: { workspaceId: string; sessionId: string },
  signal: AbortSignal,
): AsyncGenerator<{ json: Uint8Array }> {
  if (!isWorkspaceId(workspaceId) || !isUuid(sessionId)) throw sessionNotFound();
  let isMissing = true;
  for await (const piece of exportSession(database, workspaceId, sessionId)) {
    if (signal.aborted) return;
    isMissing = false;
    const bytes = Buffer.from(piece);
    for (let start = 0; start < bytes.length; start += MAX_PIECE_BYTES)
      yield { json: bytes.subarray(start, start + MAX_PIECE_BYTES) };
  }
  if (isMissing) throw sessionNotFound();
}

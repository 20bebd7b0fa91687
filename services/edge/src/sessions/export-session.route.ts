import { Readable } from "node:stream";
import { isParleyError, type RpcClient, status } from "@parley/rpc";
import type { GetTranscriptResponse, SessionAdminService } from "@parley/rpc/conversation";
import { EXPORT_TIMEOUT_MS, isUuid } from "@parley/service-kit";
import type { FastifyInstance } from "fastify";
import { type AuthDeps, operatorEndpoint, userBucket } from "../auth/index.ts";
import { json, unavailableError } from "../http/index.ts";
import { POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import type { StreamRegistry } from "../streams/index.ts";
import { SESSION_NOT_FOUND, SessionParams, sessionNotFound } from "./delete-session.route.ts";
import { Transcript } from "./transcript.ts";

export type ExportDeps = AuthDeps & {
  limiter: RateLimiter;
  sessions: RpcClient<typeof SessionAdminService>;
  streams: StreamRegistry;
};

const CONTENT_DISPOSITION = {
  required: true,
  schema: { type: "string", pattern: '^attachment; filename="session-[0-9a-f-]{36}\\.json"$' },
};

/** GET /api/conversations/{session_id}/export.json: streams the transcript of one session. */
export function exportSessionRoute(app: FastifyInstance, deps: ExportDeps): void {
  operatorEndpoint(app, deps, {
    method: "GET",
    url: "/api/conversations/:session_id/export.json",
    policy: POLICIES.export,
    schema: { params: SessionParams },
    operation: {
      operationId: "exportConversation",
      summary: "Download a transcript",
      description: "Streams the transcript of one session of the caller's workspace.",
      responses: {
        200: json("The transcript.", Transcript, { "Content-Disposition": CONTENT_DISPOSITION }),
        404: SESSION_NOT_FOUND,
      },
    },
    handler: async ({ params }, reply, caller) => {
      const sessionId = params.session_id.toLowerCase();
      if (!isUuid(sessionId)) throw sessionNotFound();
      const { workspaceId } = caller;
      const stream = deps.streams.open(reply.raw, userBucket(caller));
      // The stream counts as open until the handler has released it and the response has closed.
      stream.release();
      const chunks = deps.sessions.getTranscript(
        { workspaceId, sessionId },
        { timeoutMs: EXPORT_TIMEOUT_MS, signal: stream.endSignal },
      );
      const document = await openDocument(chunks[Symbol.asyncIterator]());
      return reply
        .header("content-type", "application/json; charset=utf-8")
        .header("content-disposition", `attachment; filename="session-${sessionId}.json"`)
        .header("cache-control", "no-store")
        .send(Readable.from(toSmallPieces(document), { objectMode: false, highWaterMark: 1 }));
    },
  });
}

/**
 * Waits for the first chunk, so that an error can still change the status. Then returns a generator of all chunks. If the response closes early,
 * the generator cancels the RPC.
 */
async function openDocument(chunks: AsyncIterator<GetTranscriptResponse>): Promise<AsyncGenerator<Uint8Array>> {
  let first: IteratorResult<GetTranscriptResponse>;
  try {
    first = await chunks.next();
  } catch (error) {
    if (isParleyError(error, status.NOT_FOUND)) throw sessionNotFound(error);
    throw unavailableError(error);
  }
  return streamChunks(first, chunks);
}

async function* streamChunks(
  first: IteratorResult<GetTranscriptResponse>,
  chunks: AsyncIterator<GetTranscriptResponse>,
) {
  try {
    for (let chunk = first; !chunk.done; chunk = await chunks.next()) yield chunk.value.json;
  } finally {
    await chunks.return?.();
  }
}

/**
 * Each piece that leaves the response's buffer restarts the stall timeout of the stream registry. With larger pieces, a client that reads slowly
 * but steadily could be disconnected as stalled.
 */
const PIECE_BYTES = 16 * 1024;

export async function* toSmallPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks)
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) yield chunk.subarray(start, start + PIECE_BYTES);
}

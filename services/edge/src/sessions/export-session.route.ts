import { Readable } from "node:stream";
import { type RpcClient, RpcError, status } from "@parley/rpc";
import type { ConversationService, ExportSessionResponse } from "@parley/rpc/conversation";
import { isUuid } from "@parley/service-kit";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type AuthDeps, authenticate, type Caller, userBucket } from "../auth/index.ts";
import { addressBucket, endpoint, HttpError, unavailable } from "../http/index.ts";
import { enforce, POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import type { Streams } from "../streams/index.ts";

export type ExportDeps = AuthDeps & {
  limiter: RateLimiter;
  conversation: RpcClient<typeof ConversationService>;
  streams: Streams;
};

const EXPORT_TIMEOUT_MS = 10 * 60_000;

/** GET /api/conversations/{session_id}/export.json: one conversation's transcript, streamed from the database's cursor. */
export function exportRoute(app: FastifyInstance, deps: ExportDeps): void {
  endpoint(app, {
    method: "GET",
    url: "/api/conversations/:sessionId/export.json",
    config: { errorKey: "detail" },
    onRequest: deps.malformed.refuse,
    handler: async (request, reply) => {
      const caller = await authenticateOrCount(deps, request, reply);
      await enforce(deps.limiter, POLICIES.export, userBucket(caller), reply);

      const sessionId = (request.params as { sessionId: string }).sessionId.toLowerCase();
      if (!isUuid(sessionId)) throw sessionNotFound();
      const { workspaceId } = caller;
      const stream = deps.streams.open(reply.raw, addressBucket(request.ip));
      // All there is to wait for is the answer itself.
      stream.close();
      const pieces = deps.conversation.exportSession(
        { workspaceId, sessionId },
        { timeoutMs: EXPORT_TIMEOUT_MS, signal: stream.over },
      );
      const document = await firstPieceOrNotFound(pieces[Symbol.asyncIterator]());
      return reply
        .header("content-type", "application/json; charset=utf-8")
        .header("content-disposition", `attachment; filename="session-${sessionId}.json"`)
        .header("cache-control", "no-store")
        .send(Readable.from(document, { objectMode: false, highWaterMark: 1 }));
    },
  });
}

/** Callers without a good token are counted by address before they are refused. */
async function authenticateOrCount(deps: ExportDeps, request: FastifyRequest, reply: FastifyReply): Promise<Caller> {
  try {
    return await authenticate(deps, request, reply);
  } catch (error) {
    if (error instanceof HttpError && error.status === 401)
      await enforce(deps.limiter, POLICIES.export, addressBucket(request.ip), reply);
    throw error;
  }
}

function sessionNotFound(cause?: unknown): HttpError {
  return new HttpError(404, "session_not_found", {}, { cause });
}

/** Waits for the first piece, while an answer other than 200 is still possible. Whoever stops reading ends the call. */
async function firstPieceOrNotFound(pieces: AsyncIterator<ExportSessionResponse>): Promise<AsyncGenerator<Uint8Array>> {
  let first: IteratorResult<ExportSessionResponse>;
  try {
    first = await pieces.next();
  } catch (error) {
    if (error instanceof RpcError && error.status === status.NOT_FOUND) throw sessionNotFound(error);
    throw unavailable(error);
  }
  return all(first, pieces);
}

async function* all(first: IteratorResult<ExportSessionResponse>, pieces: AsyncIterator<ExportSessionResponse>) {
  try {
    for (let piece = first; !piece.done; piece = await pieces.next()) yield piece.value.json;
  } finally {
    await pieces.return?.();
  }
}

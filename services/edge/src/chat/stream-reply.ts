import type { FastifyReply, FastifyRequest } from "fastify";
import { STREAM_HEADERS } from "../streams/index.ts";
import type { Stopwatch, TurnRequest } from "../turns/index.ts";
import { type KeyedStreamDeps, streamKeyedTurn } from "./stream-keyed-turn.ts";
import { streamTurn } from "./stream-turn.ts";
import { hashKey, hashRequest, parseEventId, type ResumeHeaders } from "./turn-key.ts";

type Resume = ResumeHeaders & {
  /** The user of the playground; empty for a visitor. */
  caller: string;
};

type HttpContext = { request: FastifyRequest; reply: FastifyReply; stopwatch: Stopwatch };

/**
 * Streams the reply to a message. With an idempotency key, a repeated request reads the reply of the first. Throws an HttpError if it fails
 * before the stream is open.
 */
export async function streamReply(
  deps: KeyedStreamDeps,
  turn: TurnRequest,
  { key, lastEventId, caller }: Resume,
  { request, reply, stopwatch }: HttpContext,
): Promise<void> {
  if (key !== undefined) {
    const keyed = { ...turn, keyHash: hashKey(turn.source, caller, key), requestHash: hashRequest(turn.message) };
    const position = lastEventId === undefined ? undefined : parseEventId(lastEventId);
    return streamKeyedTurn(deps, keyed, position, reply, stopwatch);
  }
  if (lastEventId === undefined) return streamTurn(deps, turn, request, reply, stopwatch);
  // Without a key, there is no reply to resume. A client that reconnects by itself, like EventSource, must not open a second turn.
  await reply.headers(STREAM_HEADERS).send("");
}

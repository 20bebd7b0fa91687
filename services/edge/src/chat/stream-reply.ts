import { STREAM_HEADERS } from "../streams/index.ts";
import type { TurnRequest } from "../turns/index.ts";
import type { KeyedStreamDeps } from "./keyed-exchange.ts";
import { streamKeyedTurn } from "./stream-keyed-turn.ts";
import { type HttpContext, streamTurn } from "./stream-turn.ts";
import { hashKey, hashRequest, parseEventId, type ResumeHeaders } from "./turn-key.ts";

type Resume = ResumeHeaders & {
  /** The user of the playground; empty for a visitor. */
  userId: string;
};

/**
 * Streams the reply to a message. If a request repeats an idempotency key, streams the reply to the first request with the key. Throws an
 * HttpError if it fails before the stream is open.
 */
export async function streamReply(
  deps: KeyedStreamDeps,
  turn: TurnRequest,
  { key, lastEventId, userId }: Resume,
  context: HttpContext,
): Promise<void> {
  if (key !== undefined) {
    const keyed = { ...turn, keyHash: hashKey(turn.source, userId, key), requestHash: hashRequest(turn.message) };
    const position = lastEventId === undefined ? undefined : parseEventId(lastEventId);
    return streamKeyedTurn(deps, keyed, position, context);
  }
  if (lastEventId === undefined) return streamTurn(deps, turn, context);
  // Sends an empty stream. Without a key, there is no reply to resume, and a client that reconnects automatically must not open a second
  // turn.
  await context.reply.headers(STREAM_HEADERS).send("");
}

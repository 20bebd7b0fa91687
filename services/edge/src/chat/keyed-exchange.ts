import type { StoredTurn } from "@parley/rpc/conversation";
import { currentTracer } from "@parley/service-kit";
import type { FastifyReply } from "fastify";
import type { EdgeClients } from "../edges/index.ts";
import { type HttpError, overloadedError, REQUEST_ID_HEADER } from "../http/index.ts";
import { type StreamHandle, startReplyResponse } from "../streams/index.ts";
import { type IdempotencyHashes, type ReplyReader, splitsSurrogatePair, type TurnRequest } from "../turns/index.ts";
import { findTurn } from "./find-turn.ts";
import { HEARTBEAT_MS, type StreamDeps, translateTurnError } from "./stream-turn.ts";
import { invalidEventId, type ReplyPosition } from "./turn-key.ts";

export type KeyedStreamDeps = StreamDeps & {
  edges: EdgeClients;
  /** How long a reply continues without readers. */
  detachedReplyMs: number;
  attachMetrics: {
    attaches: { inc(labels: { where: string }): void };
    detached: { inc(labels: { result: string }): void };
    refused: { inc(labels: { reason: string }): void };
  };
};

export type KeyedRequest = TurnRequest & IdempotencyHashes;

/** A request with an idempotency key, and its response. */
export type Exchange = {
  deps: KeyedStreamDeps;
  turn: KeyedRequest;
  /** Where the client continues; undefined if it has nothing yet. */
  position: ReplyPosition | undefined;
  stream: StreamHandle;
  response: FastifyReply;
  /**
   * Whether FindTurn must check that the visitor may read a running reply: an unverified visitor may not, if a later message has given the session a
   * verified visitor.
   */
  checksVisitor: boolean;
};

/** Returns the turn of the request's key. Throws an HttpError; with `opensTurn`, the refusals of a new turn come before idempotency_key_reused. */
export async function findTurnOfKey({ deps, turn }: Exchange, opensTurn = false): Promise<StoredTurn> {
  return findTurn(deps.turnDeps.conversation, turn, opensTurn).catch((error: unknown) => {
    throw translateTurnError(error);
  });
}

/** Returns the 503, and counts it, for a session with too many running replies or a reply with too many readers. */
export function refuseAtLimit({ attachMetrics }: KeyedStreamDeps, cause?: unknown): HttpError {
  attachMetrics.refused.inc({ reason: "client" });
  return overloadedError("client", cause);
}

/** Returns the offset where the client continues. Throws 400 if the client's event id names another message or an invalid offset. */
export function requireOffset({ position }: Exchange, messageId: number, text: string): number {
  if (position === undefined) return 0;
  if (position.messageId !== messageId || !isOffset(text, position.offset)) throw invalidEventId();
  return position.offset;
}

export function isOffset(text: string, offset: number): boolean {
  return offset <= text.length && !splitsSurrogatePair(text, offset);
}

/** Starts the response. Its request id is the id of the turn, which an earlier request may have opened. */
export function openReader(
  { response, stream, turn }: Exchange,
  { turnId, messageId }: { turnId: string; messageId: number },
  offset: number,
): ReplyReader {
  currentTracer()?.annotateActiveSpan({ "parley.turn_id": turnId });
  response.header(REQUEST_ID_HEADER, turnId);
  const meta = { session_id: turn.sessionId, message_id: messageId };
  return startReplyResponse(response.raw, meta, offset, {
    open: () => {
      response.hijack();
      return response.getHeaders();
    },
    heartbeatMs: HEARTBEAT_MS,
    endSignal: stream.endSignal,
  });
}

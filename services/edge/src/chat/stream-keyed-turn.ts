import { RpcError, status } from "@parley/rpc";
import type { StoredTurn } from "@parley/rpc/conversation";
import { currentTracer, pause } from "@parley/service-kit";
import type { FastifyReply } from "fastify";
import type { EdgeClients } from "../edges/index.ts";
import { HttpError, overloadedError, REQUEST_ID_HEADER, unavailableError } from "../http/index.ts";
import { type StreamHandle, startReplyResponse } from "../streams/index.ts";
import {
  closeAbandonedTurn,
  type IdempotencyHashes,
  KeyedReply,
  type ReplyReader,
  readEnding,
  readStoredReply,
  runKeyedTurn,
  type Stopwatch,
  type StoredReply,
  splitsSurrogatePair,
  type TurnRequest,
  textPieceAt,
} from "../turns/index.ts";
import { createMessageCounter, FIND_TIMEOUT_MS } from "./message-counter.ts";
import { HEARTBEAT_MS, type HttpContext, reportTurn, type StreamDeps, translateTurnError } from "./stream-turn.ts";
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

const POLL_INTERVAL_MS = 1_000;

type Exchange = {
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

/**
 * Streams the reply to a request with an idempotency key. If the key is new, opens a turn; otherwise attaches to the key's turn or replays it.
 * Throws an HttpError if it fails before the response starts.
 */
export async function streamKeyedTurn(
  deps: KeyedStreamDeps,
  turn: KeyedRequest,
  position: ReplyPosition | undefined,
  context: HttpContext,
): Promise<void> {
  const { clientBucket, reply, stopwatch, hasIdentityKeys } = context;
  const running = deps.turnDeps.runningTurns.findReply(turn);
  const checksVisitor = hasIdentityKeys && !turn.visitorVerified;
  if (running !== undefined && !checksVisitor) requireSameMessage(running, turn);
  const stream = deps.streams.open(reply.raw, clientBucket);
  const exchange: Exchange = { deps, turn, position, stream, response: reply, checksVisitor };
  if (running === undefined && position === undefined) {
    const refusal = deps.turnDeps.unpaidReplies.findRefusal(turn.client, reply);
    if (refusal !== undefined) return streamWithoutNewTurn(exchange, () => refusal);
    return streamNewTurn(exchange, stopwatch, createMessageCounter(deps, turn, context));
  }
  try {
    if (running !== undefined) await streamRunning(exchange, running);
    else await streamExisting(exchange, await findTurn(deps, turn));
  } finally {
    stream.release();
  }
}

function requireSameMessage({ requestHash }: KeyedReply, turn: IdempotencyHashes): void {
  if (Buffer.compare(requestHash, turn.requestHash) !== 0) throw new HttpError(409, "idempotency_key_reused");
}

/** Runs a new turn and streams its reply. The stream's slot stays occupied until the turn is closed, even if the first reader leaves. */
async function streamNewTurn(
  exchange: Exchange,
  stopwatch: Stopwatch,
  countMessage: (() => Promise<void>) | undefined,
): Promise<void> {
  const { deps, turn, stream, response } = exchange;
  const { log } = response.request;
  const { detachedReplyMs, attachMetrics } = deps;
  const reply = new KeyedReply(turn, detachedReplyMs, (result) => attachMetrics.detached.inc({ result }));
  if (!deps.turnDeps.runningTurns.addReply(turn, reply))
    return streamWithoutNewTurn(exchange, (cause) => refuseAtLimit(deps, cause));
  runKeyedTurn(deps.turnDeps, turn, reply, { stopwatch, countMessage })
    .then(
      (report) => {
        if (report !== undefined) reportTurn(deps, report, { reply: response, stopwatch });
      },
      (error: unknown) => {
        // If OpenTurn failed, messageId is 0 and each reader's response reports the error.
        if (reply.messageId > 0) log.error({ error }, "turn with an idempotency key failed");
      },
    )
    .finally(() => stream.release());
  const opening = await waitForOpening(exchange, reply);
  if (opening.isLocal) await follow(exchange, reply, true);
  else await streamExisting(exchange, opening.existing);
}

/**
 * For a session with too many running keyed turns, or a client with too many unpaid replies. Streams the key's turn, or throws the refusal if the
 * key is new.
 */
async function streamWithoutNewTurn(exchange: Exchange, refuse: (cause: HttpError) => HttpError): Promise<void> {
  const { deps, turn, stream } = exchange;
  try {
    const existing = await findTurn(deps, turn).catch((error: HttpError) => {
      throw error.status === 404 ? refuse(error) : error;
    });
    await streamExisting(exchange, existing);
  } finally {
    stream.release();
  }
}

async function streamRunning(exchange: Exchange, reply: KeyedReply): Promise<void> {
  const opening = await waitForOpening(exchange, reply);
  if (!opening.isLocal) return streamExisting(exchange, opening.existing);
  if (exchange.checksVisitor) await requireReader(exchange);
  await follow(exchange, reply, false);
}

/** Throws an HttpError if the visitor may not read the running reply to the request's key, or if the key was used with another message. */
async function requireReader({ deps, turn, position }: Exchange): Promise<void> {
  await findTurn(deps, turn).catch((error: HttpError) => {
    // A request without Last-Event-ID would open a turn, so it gets OpenTurn's code.
    const isOpener = error.status === 404 && position === undefined;
    throw isOpener ? new HttpError(404, "session_not_found", {}, { cause: error }) : error;
  });
}

async function waitForOpening({ deps, stream }: Exchange, reply: KeyedReply): ReturnType<KeyedReply["waitForOpening"]> {
  try {
    return await reply.waitForOpening(stream.cancelSignal);
  } catch (error) {
    if (error instanceof RpcError && error.code === "too_many_keyed_turns") throw refuseAtLimit(deps, error);
    throw translateTurnError(error);
  }
}

/** Returns the 503, and counts it, for a session with too many running replies or a reply with too many readers. */
function refuseAtLimit({ attachMetrics }: KeyedStreamDeps, cause?: unknown): HttpError {
  attachMetrics.refused.inc({ reason: "client" });
  return overloadedError("client", cause);
}

/** Attaches the response to a reply that this process runs. Resolves when the connection closes. */
async function follow(exchange: Exchange, reply: KeyedReply, isOpener: boolean): Promise<void> {
  const offset = requireOffset(exchange, reply.messageId, reply.text);
  if (reply.isFull) throw refuseAtLimit(exchange.deps);
  const { raw } = exchange.response;
  if (raw.destroyed) return;
  if (!isOpener) exchange.deps.attachMetrics.attaches.inc({ where: "local" });
  const reader = openReader(exchange, reply, offset);
  await new Promise<void>((resolve) => {
    raw.once("close", () => {
      reply.detach(reader);
      resolve();
    });
    reply.attach(reader, offset, isOpener);
  });
}

/**
 * Streams a turn that is in the database. Replays it if it has ended, or attaches to the edge that runs it. If this process opened the turn but no
 * longer runs it, closes it and then replays it.
 */
async function streamExisting(exchange: Exchange, existing: StoredTurn): Promise<void> {
  const { deps } = exchange;
  const stored = readStoredReply(existing);
  if (stored !== undefined) return replay(exchange, existing, stored);
  if (existing.edgeId !== deps.turnDeps.edgeId) return streamRemote(exchange, existing);
  const local = deps.turnDeps.runningTurns.get(existing.turnId)?.reply;
  // The turn may have been opened since streamKeyedTurn looked for it.
  if (local !== undefined) return streamRunning(exchange, local);
  await closeAbandonedTurn(deps.turnDeps.conversation, exchange.turn.workspaceId, existing.turnId).catch(
    (error: unknown) => {
      throw unavailableError(error);
    },
  );
  return streamExisting(exchange, await findTurn(deps, exchange.turn));
}

async function replay(exchange: Exchange, existing: StoredTurn, { text, ending }: StoredReply): Promise<void> {
  const messageId = Number(existing.messageId);
  const offset = requireOffset(exchange, messageId, text);
  if (exchange.response.raw.destroyed) return;
  exchange.deps.attachMetrics.attaches.inc({ where: "stored" });
  const reader = openReader(exchange, { ...existing, messageId }, offset);
  await sendText(reader, text, offset);
  reader.end(ending);
}

async function sendText(reader: ReplyReader, text: string, start: number): Promise<void> {
  let offset = start;
  while (offset < text.length) {
    const piece = textPieceAt(text, offset);
    offset += piece.length;
    await reader.token(piece, offset);
  }
}

/** Streams a reply from the edge that runs its turn. If that edge cannot be reached or is lost, sends heartbeats until the turn is closed. */
async function streamRemote(exchange: Exchange, existing: StoredTurn): Promise<void> {
  const { deps, turn, position, stream } = exchange;
  const messageId = Number(existing.messageId);
  if (position !== undefined && position.messageId !== messageId) throw invalidEventId();
  let offset = position?.offset ?? 0;
  let parts: Awaited<ReturnType<EdgeClients["attach"]>>;
  try {
    parts = await deps.edges.attach(turn.workspaceId, existing, offset, stream.endSignal);
  } catch (error) {
    const code = error instanceof RpcError ? error.code : "";
    if (code === "invalid_last_event_id") throw invalidEventId();
    if (code === "overloaded") throw refuseAtLimit(deps, error);
    // The other edge has already closed the turn.
    if (code === "turn_not_found") return streamExisting(exchange, await findTurn(deps, turn));
    // After any other error, waitForEnd reads the outcome from the database.
  }
  if (exchange.response.raw.destroyed) {
    await parts?.return(undefined);
    return;
  }
  // A drain resets this connection immediately, because the client can resume the reply on another edge.
  stream.markForwarded();
  const reader = openReader(exchange, { ...existing, messageId }, offset);
  if (parts !== undefined) {
    deps.attachMetrics.attaches.inc({ where: "remote" });
    try {
      for await (const { text, end } of parts) {
        offset += text.length;
        if (text !== "") await reader.token(text, offset);
        const ending = readEnding(end);
        if (ending !== undefined) return reader.end(ending);
      }
    } catch {
      // The other edge is lost, or does not know which outcome is stored.
    }
  }
  await waitForEnd(exchange, reader, offset);
}

/** Sends heartbeats until the turn is closed in the database, and then sends the rest of the reply. */
async function waitForEnd({ deps, turn, stream }: Exchange, reader: ReplyReader, offset: number): Promise<void> {
  while (!stream.endSignal.aborted) {
    const found = await findTurn(deps, turn).catch((error: HttpError) => error);
    if (found instanceof HttpError && found.status === 404) break;
    const stored = found instanceof HttpError ? undefined : readStoredReply(found);
    if (stored !== undefined) {
      // The client has text that was not stored. When it reconnects, it gets 400 invalid_last_event_id.
      if (!isOffset(stored.text, offset)) break;
      deps.attachMetrics.attaches.inc({ where: "stored" });
      await sendText(reader, stored.text, offset);
      return reader.end(stored.ending);
    }
    await pause(POLL_INTERVAL_MS, stream.endSignal);
  }
  reader.disconnect();
}

/** If FindTurn fails, throws an HttpError. */
async function findTurn(deps: KeyedStreamDeps, turn: KeyedRequest): Promise<StoredTurn> {
  const { workspaceId, botId, sessionId, source, visitorId, visitorVerified, keyHash, requestHash } = turn;
  try {
    const scope = { workspaceId, botId, sessionId, source, visitorId, visitorVerified };
    const found = await deps.turnDeps.conversation.findTurn(
      { ...scope, keyHash, requestHash },
      { timeoutMs: FIND_TIMEOUT_MS },
    );
    if (found.turn === undefined) throw new RpcError(status.NOT_FOUND, "turn_not_found", "no such turn");
    return found.turn;
  } catch (error) {
    throw translateTurnError(error);
  }
}

/** Returns the offset where the client continues. Throws 400 if the client's event id names another message or an invalid offset. */
function requireOffset({ position }: Exchange, messageId: number, text: string): number {
  if (position === undefined) return 0;
  if (position.messageId !== messageId || !isOffset(text, position.offset)) throw invalidEventId();
  return position.offset;
}

function isOffset(text: string, offset: number): boolean {
  return offset <= text.length && !splitsSurrogatePair(text, offset);
}

/** Starts the response. Its request id is the id of the turn, which an earlier request may have opened. */
function openReader(
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

import { isParleyError, RpcError, status } from "@parley/rpc";
import type { StoredTurn } from "@parley/rpc/conversation";
import { pause } from "@parley/service-kit";
import type { EdgeClients } from "../edges/index.ts";
import { HttpError, unavailableError } from "../http/index.ts";
import {
  closeAbandonedTurn,
  type KeyedReply,
  type ReplyReader,
  readEnding,
  readStoredReply,
  type StoredReply,
  textPieceAt,
} from "../turns/index.ts";
import { type Exchange, findTurnOfKey, isOffset, openReader, refuseAtLimit, requireOffset } from "./keyed-exchange.ts";
import { translateTurnError } from "./stream-turn.ts";
import { invalidEventId } from "./turn-key.ts";

const POLL_INTERVAL_MS = 1_000;

/**
 * Streams a reply that this process runs or is about to run. Returns false if it will not run, because the request that opens the turn was refused for a
 * reason of its own.
 */
export async function streamRunning(exchange: Exchange, reply: KeyedReply): Promise<boolean> {
  const { turn, checksVisitor } = exchange;
  const opening = await waitForOpening(exchange, reply).catch((error: unknown) => {
    if (isOwnRefusal(error)) return undefined;
    throw toOpeningError(exchange, error);
  });
  if (opening === undefined) return false;
  if (checksVisitor || Buffer.compare(reply.requestHash, turn.requestHash) !== 0) await requireReader(exchange);
  await (opening.isLocal ? follow(exchange, reply, false) : streamExisting(exchange, opening.existing));
  return true;
}

/**
 * Whether the error of an opening concerns only the request that opens the turn: its consent, pass, visitor's limit or metadata, its message if that is
 * not the key's, or its client that has left. Another request with the same key answers for its own.
 */
function isOwnRefusal(error: unknown): boolean {
  return error instanceof HttpError || isParleyError(error, status.FAILED_PRECONDITION, status.INVALID_ARGUMENT);
}

/** Throws an HttpError if the visitor may not read the running reply to the request's key, or if the key was used with another message. */
async function requireReader(exchange: Exchange): Promise<void> {
  const isOpener = exchange.position === undefined;
  await findTurnOfKey(exchange, isOpener).catch((error: HttpError) => {
    // A request without Last-Event-ID would open a turn, so it gets OpenTurn's code.
    throw error.status === 404 && isOpener ? new HttpError(404, "session_not_found", {}, { cause: error }) : error;
  });
}

export function waitForOpening({ stream }: Exchange, reply: KeyedReply): ReturnType<KeyedReply["waitForOpening"]> {
  return reply.waitForOpening(stream.cancelSignal);
}

/** Translates the error of an opening to the one of the response. */
export function toOpeningError({ deps }: Exchange, error: unknown): Error {
  if (error instanceof RpcError && error.code === "too_many_keyed_turns") return refuseAtLimit(deps, error);
  return translateTurnError(error);
}

/** Attaches the response to a reply that this process runs. Resolves when the connection closes. */
export async function follow(exchange: Exchange, reply: KeyedReply, isOpener: boolean): Promise<void> {
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
export async function streamExisting(exchange: Exchange, existing: StoredTurn): Promise<void> {
  const { deps } = exchange;
  const stored = readStoredReply(existing);
  if (stored !== undefined) return replay(exchange, existing, stored);
  if (existing.edgeId !== deps.turnDeps.edgeId) return streamRemote(exchange, existing);
  const local = deps.turnDeps.runningTurns.get(existing.turnId)?.reply;
  // The turn may have been opened since streamKeyedTurn looked for it.
  if (local !== undefined && (await streamRunning(exchange, local))) return;
  await closeAbandonedTurn(deps.turnDeps.conversation, exchange.turn.workspaceId, existing.turnId).catch(
    (error: unknown) => {
      throw unavailableError(error);
    },
  );
  return streamExisting(exchange, await findTurnOfKey(exchange));
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
    if (code === "turn_not_found") return streamExisting(exchange, await findTurnOfKey(exchange));
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
async function waitForEnd(exchange: Exchange, reader: ReplyReader, offset: number): Promise<void> {
  const { deps, stream } = exchange;
  while (!stream.endSignal.aborted) {
    const found = await findTurnOfKey(exchange).catch((error: HttpError) => error);
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

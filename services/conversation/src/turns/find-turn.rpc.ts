import type { MessageInitShape } from "@bufbuild/protobuf";
import type { FindTurnRequest, FindTurnResponseSchema } from "@parley/rpc/conversation";
import { type Database, invalidArgument, isUuid, isWorkspaceId, notFound } from "@parley/service-kit";
import { refusesTurn, refuseVisitorMismatch, sessionNotFound } from "../sessions/index.ts";
import { findKeyedTurn, findTurnOfMessage, type StoredTurn } from "./keyed-turns.store.ts";
import { requireSameRequest, toStoredTurnMessage } from "./stored-turn.ts";

/** Finds a turn of a session by its idempotency key or by its reply's message id. If there is none, refuses a session as OpenTurn would. */
export async function handleFindTurn(
  database: Database,
  request: FindTurnRequest,
): Promise<MessageInitShape<typeof FindTurnResponseSchema>> {
  const { workspaceId, botId, sessionId, keyHash, messageId, requestHash, opensTurn } = request;
  if (keyHash.length === 0 && messageId === 0n && !opensTurn)
    throw invalidArgument("key_hash, message_id or opens_turn must be set");
  const couldExist =
    isWorkspaceId(workspaceId) &&
    isUuid(botId) &&
    isUuid(sessionId) &&
    messageId >= 0n &&
    messageId <= BigInt(Number.MAX_SAFE_INTEGER);
  const turn = couldExist ? await findRequestedTurn(database, request) : undefined;
  if (turn === undefined) {
    if (couldExist) await refuseVisitorMismatch(database, request);
    if (couldExist && opensTurn && (await refusesTurn(database, request))) throw sessionNotFound();
    throw notFound("turn_not_found", "no such turn");
  }
  if (requestHash.length > 0) requireSameRequest(turn, requestHash);
  return { turn: toStoredTurnMessage(turn) };
}

async function findRequestedTurn(database: Database, request: FindTurnRequest): Promise<StoredTurn | undefined> {
  if (request.keyHash.length > 0) return (await findKeyedTurn(database, request)).turn;
  if (request.messageId === 0n) return undefined;
  return findTurnOfMessage(database, { ...request, messageId: String(request.messageId) });
}

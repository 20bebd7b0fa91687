import type { MessageInitShape } from "@bufbuild/protobuf";
import type { FindTurnRequest, FindTurnResponseSchema } from "@parley/rpc/conversation";
import { type Database, invalidArgument, isUuid, isWorkspaceId, notFound } from "@parley/service-kit";
import type { GetBotConfig } from "../bots/index.ts";
import { refusesTurn, refuseVisitorMismatch, sessionNotFound } from "../sessions/index.ts";
import { findKeyedTurn, findTurnOfMessage, type StoredTurn } from "./keyed-turns.store.ts";
import { findMissingConsent, type MissingConsent } from "./missing-consent.service.ts";
import { isSameRequest, requireSameRequest, toStoredTurnMessage } from "./stored-turn.ts";

type FindTurnDeps = { database: Database; botConfigs: GetBotConfig };

/**
 * Finds a turn of a session by its idempotency key or by its reply's message id. If the caller would open a turn, refuses the session and asks for a
 * consent as OpenTurn would.
 */
export async function handleFindTurn(
  deps: FindTurnDeps,
  request: FindTurnRequest,
): Promise<MessageInitShape<typeof FindTurnResponseSchema>> {
  const { database } = deps;
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
  const isRepeated = turn !== undefined && (requestHash.length === 0 || isSameRequest(turn, requestHash));
  if (isRepeated) return { turn: toStoredTurnMessage(turn) };
  if (turn === undefined) {
    if (couldExist) await refuseVisitorMismatch(database, request);
    if (couldExist && opensTurn && (await refusesTurn(database, request))) throw sessionNotFound();
  }
  const consentRequired = couldExist && opensTurn ? await findConsentOfBot(deps, request) : undefined;
  if (consentRequired !== undefined) return { consentRequired };
  if (turn !== undefined) requireSameRequest(turn, requestHash);
  throw notFound("turn_not_found", "no such turn");
}

async function findConsentOfBot(
  { database, botConfigs }: FindTurnDeps,
  request: FindTurnRequest,
): Promise<MissingConsent | undefined> {
  const bot = await botConfigs(request.workspaceId, request.botId);
  return bot && findMissingConsent(database, bot, request);
}

async function findRequestedTurn(database: Database, request: FindTurnRequest): Promise<StoredTurn | undefined> {
  if (request.keyHash.length > 0) return (await findKeyedTurn(database, request)).turn;
  if (request.messageId === 0n) return undefined;
  return findTurnOfMessage(database, { ...request, messageId: String(request.messageId) });
}

import { type RpcClient, RpcError, status } from "@parley/rpc";
import type { ConversationService, StoredTurn } from "@parley/rpc/conversation";
import { type IdempotencyHashes, requireConsent, type TurnRequest } from "../turns/index.ts";

const FIND_TIMEOUT_MS = 2_000;

/**
 * Returns the turn of the message's idempotency key. Throws RpcError turn_not_found if there is none, and RpcError if the visitor may not use the
 * session, or if the key was used with another message. With `opensTurn`, it throws what OpenTurn would throw for a new turn: also HttpError
 * consent_required.
 */
export async function findTurn(
  conversation: Pick<RpcClient<typeof ConversationService>, "findTurn">,
  turn: TurnRequest & Partial<IdempotencyHashes>,
  opensTurn: boolean,
): Promise<StoredTurn> {
  const { workspaceId, botId, sessionId, source, visitorId, visitorVerified, consentVersion, acceptLanguage } = turn;
  const { keyHash, requestHash } = turn;
  const found = await conversation.findTurn(
    {
      ...{ workspaceId, botId, sessionId, source, visitorId, visitorVerified, consentVersion, acceptLanguage },
      ...(keyHash !== undefined && requestHash !== undefined && { keyHash, requestHash }),
      opensTurn,
    },
    { timeoutMs: FIND_TIMEOUT_MS },
  );
  requireConsent(found);
  if (found.turn === undefined) throw new RpcError(status.NOT_FOUND, "turn_not_found", "no such turn");
  return found.turn;
}

import { isParleyError, status } from "@parley/rpc";
import { countVisitorMessage, type HashClient, type RateLimiter } from "../rate-limits/index.ts";
import { type IdempotencyHashes, requireConsent, type TurnDeps, type TurnRequest } from "../turns/index.ts";

type CounterDeps = { limiter: RateLimiter; hashClient: HashClient; turnDeps: Pick<TurnDeps, "conversation"> };
type SentTurn = TurnRequest & Partial<IdempotencyHashes>;

/** How long FindTurn may take. */
export const FIND_TIMEOUT_MS = 2_000;

/**
 * Returns a function that counts a message against the bot's limit per visitor, right before its turn is opened. It throws what OpenTurn would throw
 * for the session and the idempotency key, 403 consent_required if the visitor must agree first, and otherwise 429 visitor_limit above the limit. A message whose key has a turn does not count. Without
 * a limit, returns undefined, so that the message needs no further call.
 */
export function createMessageCounter(
  deps: CounterDeps,
  turn: SentTurn,
  { clientBucket, visitorMessagesPerDay }: { clientBucket: string; visitorMessagesPerDay: number },
): (() => Promise<void>) | undefined {
  if (visitorMessagesPerDay === 0) return undefined;
  const { turnId, keyHash } = turn;
  const messageId = keyHash === undefined ? turnId : `${turn.sessionId} ${Buffer.from(keyHash).toString("base64url")}`;
  return async () => {
    if (await hasTurn(deps, turn)) return;
    await countVisitorMessage(deps, { ...turn, clientBucket, messageId }, visitorMessagesPerDay);
  };
}

/** Whether the message's key has a turn. Throws RpcError if OpenTurn would refuse the session or the key, and HttpError if a consent is missing. */
async function hasTurn({ turnDeps }: CounterDeps, turn: SentTurn): Promise<boolean> {
  const { workspaceId, botId, sessionId, source, visitorId, visitorVerified, keyHash, requestHash } = turn;
  const { consentVersion, acceptLanguage } = turn;
  const scope = { workspaceId, botId, sessionId, source, visitorId, visitorVerified, consentVersion, acceptLanguage };
  const hashes = keyHash !== undefined && requestHash !== undefined ? { keyHash, requestHash } : {};
  try {
    const request = { ...scope, ...hashes, opensTurn: true };
    requireConsent(await turnDeps.conversation.findTurn(request, { timeoutMs: FIND_TIMEOUT_MS }));
    return true;
  } catch (error) {
    if (isParleyError(error, status.NOT_FOUND) && error.code === "turn_not_found") return false;
    throw error;
  }
}

import { isParleyError, status } from "@parley/rpc";
import { type ChallengeDeps, type ChallengeSetting, requirePass } from "../challenges/index.ts";
import { countVisitorMessage, visitorPolicy } from "../rate-limits/index.ts";
import type { IdempotencyHashes, TurnDeps, TurnRequest } from "../turns/index.ts";
import { findTurn } from "./find-turn.ts";

/** What a message must satisfy right before its turn is opened. */
export type MessageLimits = {
  /** How many messages a visitor may send in any 24 hours; 0 for no limit. */
  visitorMessagesPerDay: number;
  /** When the message needs a pass. */
  challenge: ChallengeSetting;
  publicKey: string;
  challengePass: string | undefined;
};

/** Of the playground. */
export const NO_MESSAGE_LIMITS: MessageLimits = {
  visitorMessagesPerDay: 0,
  challenge: "off",
  publicKey: "",
  challengePass: undefined,
};

type CounterDeps = ChallengeDeps & { turnDeps: Pick<TurnDeps, "conversation"> };
type SentTurn = TurnRequest & Partial<IdempotencyHashes>;

/**
 * Returns a function that counts a message against the pass that its key asks for and against the bot's limit per visitor, right before its turn is
 * opened. It throws what OpenTurn would throw for the session, the consent and the idempotency key, then 403 challenge_required without a valid pass,
 * and then 429 visitor_limit above the limit. A message whose key has a turn does not count. If there is nothing to count, returns undefined, so that
 * the message needs no further call.
 */
export function createMessageCounter(
  deps: CounterDeps,
  turn: SentTurn,
  {
    clientBucket,
    visitorMessagesPerDay,
    challenge,
    publicKey,
    challengePass,
  }: MessageLimits & { clientBucket: string },
): (() => Promise<void>) | undefined {
  if (visitorMessagesPerDay === 0 && challenge === "off") return undefined;
  const { turnId, sessionId, workspaceId, keyHash } = turn;
  const messageId = keyHash === undefined ? turnId : `${sessionId} ${Buffer.from(keyHash).toString("base64url")}`;
  return async () => {
    if (await hasTurn(deps, turn)) return;
    if (challenge !== "off") {
      const challenged = { publicKey, sessionId, clientBucket };
      await requirePass(deps, { setting: challenge, challenged, pass: challengePass, workspaceId, messageId });
    }
    if (visitorMessagesPerDay > 0)
      await countVisitorMessage(deps, { ...turn, clientBucket, messageId }, visitorPolicy(visitorMessagesPerDay));
  };
}

/** Whether the message's key has a turn. Throws RpcError if OpenTurn would refuse the session or the key, and HttpError if a consent is missing. */
async function hasTurn({ turnDeps }: CounterDeps, turn: SentTurn): Promise<boolean> {
  try {
    await findTurn(turnDeps.conversation, turn, true);
    return true;
  } catch (error) {
    if (isParleyError(error, status.NOT_FOUND) && error.code === "turn_not_found") return false;
    throw error;
  }
}

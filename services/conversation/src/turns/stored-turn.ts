import type { MessageInitShape } from "@bufbuild/protobuf";
import type { StoredTurnSchema } from "@parley/rpc/conversation";
import { OUTCOMES } from "@parley/rpc/outcomes";
import { ServiceError } from "@parley/service-kit";
import type { StoredTurn } from "./keyed-turns.store.ts";

/**
 * Throws idempotency_key_reused if a turn with an idempotency key was opened with another message. `requestHash` is null for a turn without a
 * key.
 */
export function requireSameRequest({ requestHash }: StoredTurn, expected: Uint8Array): void {
  if (requestHash !== null && Buffer.compare(requestHash, expected) !== 0)
    throw new ServiceError("failed_precondition", "idempotency_key_reused", "the key was used with another message");
}

/** Returns the protobuf StoredTurn. A blocked turn has the fallback text in `end.blocked` instead of `end.content`. A streaming turn has no `end`. */
export function toStoredTurnMessage(turn: StoredTurn): MessageInitShape<typeof StoredTurnSchema> {
  const { turnId, edgeId, edgeAddress, edgeToken, status, content, blockedReason, quota } = turn;
  const stored = { turnId, messageId: BigInt(turn.messageId), edgeId, edgeAddress, edgeToken };
  if (status === "streaming") return stored;
  const { errorCode, model, tokensIn, tokensOut, latencyMs } = turn;
  const isBlocked = status === "blocked";
  return {
    ...stored,
    end: {
      outcome: OUTCOMES[status].proto,
      content: isBlocked ? "" : content,
      errorCode,
      ...(isBlocked && { blocked: { reason: blockedReason ?? "", fallback: content } }),
      ...(quota && { quota }),
      model,
      tokensIn,
      tokensOut,
      latencyMs,
    },
  };
}

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { StoredTurnSchema } from "@parley/rpc/conversation";
import { OUTCOMES } from "@parley/rpc/outcomes";
import { ServiceError } from "@parley/service-kit";
import type { StoredTurn } from "./keyed-turns.store.ts";
import { toSourceMessages } from "./message-sources.ts";

/**
 * Whether the new request has the message of the request that opened the turn. A turn without an idempotency key has a null `requestHash` and is
 * not checked.
 */
export function isSameRequest({ requestHash }: StoredTurn, newRequestHash: Uint8Array): boolean {
  return requestHash === null || Buffer.compare(requestHash, newRequestHash) === 0;
}

/** Throws idempotency_key_reused if the new request is not the same. */
export function requireSameRequest(turn: StoredTurn, newRequestHash: Uint8Array): void {
  if (!isSameRequest(turn, newRequestHash))
    throw new ServiceError("failed_precondition", "idempotency_key_reused", "the key was used with another message");
}

/** Returns the protobuf StoredTurn. A blocked turn has the fallback text in `end.blocked` instead of `end.content`. A streaming turn has no `end`. */
export function toStoredTurnMessage(turn: StoredTurn): MessageInitShape<typeof StoredTurnSchema> {
  const { turnId, edgeId, edgeAddress, edgeToken, status, content, blockedReason, quota } = turn;
  const stored = { turnId, messageId: BigInt(turn.messageId), edgeId, edgeAddress, edgeToken };
  if (status === "streaming") return stored;
  const { errorCode, model, tokensIn, tokensOut, latencyMs, handoff } = turn;
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
      sources: toSourceMessages(turn.sources),
      ...(handoff && { handoff }),
    },
  };
}

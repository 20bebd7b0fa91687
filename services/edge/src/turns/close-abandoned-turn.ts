import type { RpcClient } from "@parley/rpc";
import { type CloseTurnResponse, type ConversationService, TurnOutcome } from "@parley/rpc/conversation";

const CLOSE_TIMEOUT_MS = 2_000;

/** Closes, with the outcome ERROR, a turn that this process opened but no longer runs. Returns the stored outcome. Throws RpcError. */
export function closeAbandonedTurn(
  conversation: RpcClient<typeof ConversationService>,
  workspaceId: string,
  turnId: string,
): Promise<CloseTurnResponse> {
  const request = { workspaceId, turnId, outcome: TurnOutcome.ERROR, errorCode: "internal_error" };
  return conversation.closeTurn(request, { timeoutMs: CLOSE_TIMEOUT_MS });
}

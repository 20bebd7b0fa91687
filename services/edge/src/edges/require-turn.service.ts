import { RpcError, status } from "@parley/rpc";
import { closeAbandonedTurn, type RunningTurn, type TurnDeps } from "../turns/index.ts";

export type EdgeCallDeps = { turnDeps: TurnDeps };

type TurnIds = { edgeId: string; workspaceId: string; turnId: string };

/**
 * Returns a turn that this process runs. Throws other_edge if the call is for another process. If this process does not run the turn, closes
 * it with the outcome ERROR and throws turn_not_found.
 */
export async function requireTurn(
  { turnDeps }: EdgeCallDeps,
  { edgeId, workspaceId, turnId }: TurnIds,
): Promise<RunningTurn> {
  if (edgeId !== turnDeps.edgeId)
    throw new RpcError(status.FAILED_PRECONDITION, "other_edge", "this is another edge process");
  const running = turnDeps.runningTurns.get(turnId);
  if (running?.workspaceId === workspaceId) return running;
  await closeAbandonedTurn(turnDeps.conversation, workspaceId, turnId);
  throw new RpcError(status.NOT_FOUND, "turn_not_found", "this process does not run the turn");
}

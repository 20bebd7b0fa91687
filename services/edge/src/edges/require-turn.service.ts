import { RpcError, status } from "@parley/rpc";
import { closeAbandonedTurn, type RunningTurn, type TurnDeps } from "../turns/index.ts";

export type EdgeCallDeps = { turn: TurnDeps };

type TurnName = { edgeId: string; workspaceId: string; turnId: string };

/**
 * Returns a turn that this process runs. Throws other_edge if the call is for another process. If this process runs no such turn of the
 * workspace, closes it as an error and throws turn_not_found.
 */
export async function requireTurn(
  { turn }: EdgeCallDeps,
  { edgeId, workspaceId, turnId }: TurnName,
): Promise<RunningTurn> {
  if (edgeId !== turn.edgeId)
    throw new RpcError(status.FAILED_PRECONDITION, "other_edge", "this is another edge process");
  const running = turn.runningTurns.get(turnId);
  if (running?.workspaceId === workspaceId) return running;
  await closeAbandonedTurn(turn.conversation, workspaceId, turnId);
  throw new RpcError(status.NOT_FOUND, "turn_not_found", "this process does not run the turn");
}

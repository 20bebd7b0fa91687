import type { MessageInitShape } from "@bufbuild/protobuf";
import { RpcError, status } from "@parley/rpc";
import type { CancelTurnRequest, CancelTurnResponseSchema } from "@parley/rpc/edge";
import { OUTCOMES } from "@parley/rpc/outcomes";
import { STOP_TIMEOUT_MS } from "../turns/index.ts";
import { type EdgeCallDeps, requireTurn } from "./require-turn.service.ts";

/** Cancels a turn that this process runs, on behalf of another edge. Returns the turn's stored outcome. */
export async function handleCancelTurn(
  deps: EdgeCallDeps,
  request: CancelTurnRequest,
): Promise<MessageInitShape<typeof CancelTurnResponseSchema>> {
  await requireTurn(deps, request);
  const { turnId, isTakeover } = request;
  const ending = await deps.turnDeps.runningTurns.cancel(turnId, STOP_TIMEOUT_MS, isTakeover);
  if (ending === undefined)
    throw new RpcError(status.UNAVAILABLE, "unavailable", "it is unknown whether an outcome is stored");
  return { outcome: OUTCOMES[ending.outcome].proto };
}

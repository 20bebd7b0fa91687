import type { MessageInitShape } from "@bufbuild/protobuf";
import { settleOutcomeFromProto } from "@parley/rpc/outcomes";
import type { AdjustTurnsRequest, AdjustTurnsResponseSchema } from "@parley/rpc/quota";
import { type Logger, type Shard, shardOfCall, sqlState } from "@parley/service-kit";
import { adjustTurns } from "./adjustments.store.ts";
import type { ReservationKey } from "./reservations.store.ts";

export async function handleAdjustTurns(
  { shards, log }: { shards: readonly Shard[]; log: Pick<Logger, "warn"> },
  request: AdjustTurnsRequest,
): Promise<MessageInitShape<typeof AdjustTurnsResponseSchema>> {
  const { database } = shardOfCall(shards, request.shard);
  const outcome = settleOutcomeFromProto(request.outcome);
  const reason = request.reason.trim();
  const adjusted: ReservationKey[] = [];
  // Adjusts one workspace at a time, so that a locked usage row affects only its own workspace. The reconciler's next call retries the turns
  // that were not adjusted.
  for (const [workspaceId, workspaceTurns = []] of Object.entries(
    Object.groupBy(request.turns, (turn) => turn.workspaceId),
  )) {
    try {
      const result = await adjustTurns(database, { turns: workspaceTurns, outcome, reason });
      adjusted.push(...result.adjusted);
      if (result.belowZeroCount > 0)
        log.warn(
          { workspace_id: workspaceId, turns: result.belowZeroCount },
          "turns not adjusted, usage would fall below 0",
        );
    } catch (error) {
      if (sqlState(error) === undefined) throw error;
      log.warn({ workspace_id: workspaceId, turns: workspaceTurns.length, error }, "adjustment failed");
    }
  }
  return { adjusted };
}

import type { MessageInitShape } from "@bufbuild/protobuf";
import { SETTLE_OUTCOMES, settleOutcomeFromProto } from "@parley/rpc/outcomes";
import type { Settlement, SettleRequest, SettleResponseSchema } from "@parley/rpc/quota";
import { type Logger, ServiceError, type ShardedDatabase, shardOfCall, shardOfWorkspace } from "@parley/service-kit";
import * as store from "./settlements.store.ts";
import type { MisroutedCounter } from "./usage.metrics.ts";

export type SettleDeps = { sharded: ShardedDatabase; misrouted: MisroutedCounter; log: Logger };

export async function handleSettle(
  deps: SettleDeps,
  request: SettleRequest,
  signal: AbortSignal,
): Promise<MessageInitShape<typeof SettleResponseSchema>> {
  const { sharded, log } = deps;
  // Not through the router: it would run a batch over many workspaces on the wrong shards, or refuse it.
  const { database } = shardOfCall(sharded.shards, request.shard);
  const settlements = await refuseMisrouted(deps, request);
  const results = await store.settle(database, settlements.map(parseSettlement), {
    signal,
    onFailure: (turns, error) =>
      log.error(
        { workspace_id: turns[0]?.workspaceId, turn_id: turns[0]?.turnId, turns: turns.length, error },
        "settlement failed",
      ),
    onUntried: (turns) => log.warn({ turns: turns.length }, "settlements not tried in time"),
  });
  for (const { workspaceId, turnId, code } of results)
    if (code !== "") log.warn({ workspace_id: workspaceId, turn_id: turnId, code }, "turn of closed month not settled");
  return { settled: results.map((each) => ({ ...each, outcome: SETTLE_OUTCOMES[each.outcome] })) };
}

/**
 * Returns the settlements of the shard that the request names. A turn that was counted on another shard would be missing in its workspace's usage.
 * Throws wrong_shard if every settlement belongs to another shard.
 */
async function refuseMisrouted({ sharded, misrouted, log }: SettleDeps, { settlements, shard }: SettleRequest) {
  if (sharded.shards.length === 1) return settlements;
  const workspaceIds = [...new Set(settlements.map(({ workspaceId }) => workspaceId))];
  const found = await Promise.all(workspaceIds.map((id) => shardOfWorkspace(sharded, "quota.reservations", id)));
  const numbers = new Map(workspaceIds.map((id, index) => [id, found[index]?.number]));
  const own = settlements.filter(({ workspaceId }) => numbers.get(workspaceId) === shard);
  const [other] = workspaceIds.filter((id) => numbers.get(id) !== shard);
  if (other === undefined) return settlements;
  misrouted.inc({ shard: String(shard) }, settlements.length - own.length);
  log.error(
    { workspace_id: other, shard: numbers.get(other), named_shard: shard, turns: settlements.length - own.length },
    "settlements refused, their workspaces are on another shard",
  );
  if (own.length > 0) return own;
  const message = `workspace ${other} is on shard ${numbers.get(other)}, not on shard ${shard}`;
  throw new ServiceError("failed_precondition", "wrong_shard", message);
}

function parseSettlement(settlement: Settlement): store.Settlement {
  return {
    workspaceId: settlement.workspaceId,
    turnId: settlement.turnId.toLowerCase(),
    outcome: settleOutcomeFromProto(settlement.outcome),
    month: settlement.month || undefined,
    unpaidDay: settlement.unpaidDay || undefined,
  };
}

import type { MessageInitShape } from "@bufbuild/protobuf";
import { SETTLE_OUTCOMES, settleOutcomeFromProto } from "@parley/rpc/outcomes";
import type { Settlement, SettleRequest, SettleResponseSchema } from "@parley/rpc/quota";
import { type Logger, type Shard, shardOfCall } from "@parley/service-kit";
import * as store from "./settlements.store.ts";

export async function handleSettle(
  { shards, log }: { shards: readonly Shard[]; log: Logger },
  request: SettleRequest,
  signal: AbortSignal,
): Promise<MessageInitShape<typeof SettleResponseSchema>> {
  // Not through the router: it would run a batch over many workspaces on the wrong shards, or refuse it.
  const { database } = shardOfCall(shards, request.shard);
  const results = await store.settle(database, request.settlements.map(parseSettlement), {
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

function parseSettlement(settlement: Settlement): store.Settlement {
  return {
    workspaceId: settlement.workspaceId,
    turnId: settlement.turnId.toLowerCase(),
    outcome: settleOutcomeFromProto(settlement.outcome),
    month: settlement.month || undefined,
    unpaidDay: settlement.unpaidDay || undefined,
  };
}

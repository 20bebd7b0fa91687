import type { MessageInitShape } from "@bufbuild/protobuf";
import { SETTLE_OUTCOMES, settleOutcomeFromProto } from "@parley/rpc/outcomes";
import type { Settlement, SettleRequest, SettleResponseSchema } from "@parley/rpc/quota";
import { type Database, invalidArgument, type Logger, parseDay, parseMonth } from "@parley/service-kit";
import * as store from "./settlements.store.ts";
import { requireTurnId } from "./turn-id.ts";

const MAX_SETTLEMENTS = 1_000;

export async function handleSettle(
  { database, log }: { database: Database; log: Logger },
  request: SettleRequest,
  signal: AbortSignal,
): Promise<MessageInitShape<typeof SettleResponseSchema>> {
  if (request.settlements.length > MAX_SETTLEMENTS)
    throw invalidArgument(`a call must have at most ${MAX_SETTLEMENTS} settlements`);
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
  const outcome = settleOutcomeFromProto(settlement.outcome);
  if (outcome === undefined) throw invalidArgument("outcome must be DONE or VOID");
  return {
    workspaceId: settlement.workspaceId,
    turnId: requireTurnId(settlement.turnId),
    outcome,
    month: parseMonth(settlement.month),
    unpaidDay: parseDay(settlement.unpaidDay),
  };
}

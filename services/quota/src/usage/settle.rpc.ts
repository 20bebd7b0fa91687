import type { MessageInitShape } from "@bufbuild/protobuf";
import { SETTLEMENTS, settlementFromProto } from "@parley/rpc/outcomes";
import type { Settlement, SettleRequest, SettleResponseSchema } from "@parley/rpc/quota";
import { type Database, invalid, parseMonth } from "@parley/service-kit";
import * as store from "./reservations.store.ts";
import { requireTurnId } from "./turn-id.ts";

const MAX_SETTLEMENTS = 1_000;

export async function handleSettle(
  database: Database,
  request: SettleRequest,
): Promise<MessageInitShape<typeof SettleResponseSchema>> {
  if (request.settlements.length > MAX_SETTLEMENTS)
    throw invalid(`a call must have at most ${MAX_SETTLEMENTS} settlements`);
  const settled = await store.settle(database, request.settlements.map(toStoredSettlement));
  return { settled: settled.map((each) => ({ ...each, outcome: SETTLEMENTS[each.outcome] })) };
}

function toStoredSettlement(settlement: Settlement): store.Settlement {
  const outcome = settlementFromProto(settlement.outcome);
  if (outcome === undefined) throw invalid("outcome must be DONE or VOID");
  return {
    workspaceId: settlement.workspaceId,
    turnId: requireTurnId(settlement.turnId),
    outcome,
    month: parseMonth(settlement.month),
  };
}

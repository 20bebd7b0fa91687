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
  if (request.settlements.length > MAX_SETTLEMENTS) throw invalid(`at most ${MAX_SETTLEMENTS} settlements a call`);
  const settled = await store.settle(database, request.settlements.map(toStore));
  return { settled: settled.map((each) => ({ ...each, outcome: SETTLEMENTS[each.outcome] })) };
}

function toStore(settlement: Settlement): store.Settlement {
  const outcome = settlementFromProto(settlement.outcome);
  if (outcome === undefined) throw invalid("a settlement needs an outcome");
  return {
    workspaceId: settlement.workspaceId,
    turnId: requireTurnId(settlement.turnId),
    outcome,
    month: parseMonth(settlement.month),
  };
}

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListTurnCostsRequest, ListTurnCostsResponseSchema } from "@parley/rpc/llm";
import type { Queryable } from "@parley/service-kit";
import { listTurnCosts } from "./turn-costs.store.ts";

/** Returns what the generations of turns cost. */
export async function handleListTurnCosts(
  database: Queryable,
  { workspaceId, turnIds }: ListTurnCostsRequest,
): Promise<MessageInitShape<typeof ListTurnCostsResponseSchema>> {
  const rows = turnIds.length === 0 ? [] : await listTurnCosts(database, workspaceId, turnIds);
  return { costs: rows.map(({ cost, ...rest }) => ({ ...rest, cost: cost ?? "" })) };
}

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CompletedTurn, FillCallLogRequest, FillCallLogResponseSchema } from "@parley/rpc/llm";
import { type Shard, shardOfCall } from "@parley/service-kit";
import type { Metrics } from "../metrics.ts";
import { computeCost, findPrice, formatCost, parseModelName, type Settings } from "../settings/index.ts";
import { type CompletedCall, insertMissingCalls } from "./calls.store.ts";

export type FillCallLogDeps = {
  shards: readonly Shard[];
  settings: () => Settings;
  metrics: Pick<Metrics, "callLogRows">;
  /** The call log's retention: turns older than this get no row. 0 for no limit. */
  retentionDays: number;
};

/** Adds the missing call log rows of the request's turns. */
export async function handleFillCallLog(
  { shards, settings, metrics, retentionDays }: FillCallLogDeps,
  { turns, shard }: FillCallLogRequest,
): Promise<MessageInitShape<typeof FillCallLogResponseSchema>> {
  const { database } = shardOfCall(shards, shard);
  const { providers } = settings();
  const toCall = (turn: CompletedTurn): CompletedCall => {
    const { workspaceId, turnId, model, tokensIn, tokensOut, firstTokenMs, latencyMs, closedAt } = turn;
    const { provider = "", name = "" } = parseModelName(model) ?? {};
    const prices = providers.find((each) => each.name === provider)?.prices ?? {};
    const cost = formatCost(computeCost(findPrice(prices, name), { tokensIn, tokensOut }));
    const month = turn.month || null;
    return {
      workspaceId,
      turnId,
      provider,
      model,
      tokensIn,
      tokensOut,
      firstTokenMs,
      latencyMs,
      closedAt,
      cost,
      month,
    };
  };
  const filled = await insertMissingCalls(database, turns.map(toCall), retentionDays);
  metrics.callLogRows.inc({ result: "filled" }, filled);
  return { filled };
}

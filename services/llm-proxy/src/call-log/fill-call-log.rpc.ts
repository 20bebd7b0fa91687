import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CompletedTurn, FillCallLogRequest, FillCallLogResponseSchema } from "@parley/rpc/llm";
import { type Database, invalidArgument, isUtcTime, isUuid, isWorkspaceId, parseMonth } from "@parley/service-kit";
import type { Metrics } from "../metrics.ts";
import { computeCost, findPrice, formatCost, parseModelName, type Settings } from "../settings/index.ts";
import { type CompletedCall, insertMissingCalls } from "./calls.store.ts";

const MAX_TURNS = 1_000;

export type FillCallLogDeps = {
  database: Database;
  settings: () => Settings;
  metrics: Pick<Metrics, "callLogRows">;
  /** The call log's retention: turns older than this get no row. 0 for no limit. */
  retentionDays: number;
};

/** Adds the missing call log rows of the request's turns. */
export async function handleFillCallLog(
  { database, settings, metrics, retentionDays }: FillCallLogDeps,
  { turns }: FillCallLogRequest,
): Promise<MessageInitShape<typeof FillCallLogResponseSchema>> {
  if (turns.length > MAX_TURNS) throw invalidArgument(`a request must have at most ${MAX_TURNS} turns`);
  const { providers } = settings();
  const toCall = (turn: CompletedTurn): CompletedCall => {
    const { workspaceId, turnId, model, tokensIn, tokensOut, firstTokenMs, latencyMs, closedAt } = turn;
    if (!isWorkspaceId(workspaceId) || !isUuid(turnId) || !isUtcTime(closedAt))
      throw invalidArgument(
        "each turn must have a workspace id in workspace_id, a UUID in turn_id and an RFC 3339 time in UTC in closed_at",
      );
    const { provider = "", name = "" } = parseModelName(model) ?? {};
    const prices = providers.find((each) => each.name === provider)?.prices ?? {};
    const cost = formatCost(computeCost(findPrice(prices, name), tokensIn, tokensOut));
    const month = parseMonth(turn.month) ?? null;
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

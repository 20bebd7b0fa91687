import type { JsonObject } from "@bufbuild/protobuf";
import { PassageUsedSchema, ToolCalledSchema } from "@parley/rpc/conversation";
import { CallSchema } from "@parley/rpc/llm";
import { TurnEntrySchema } from "@parley/rpc/quota";
import { messageToJson } from "../output/json.ts";
import type { TurnExplanation } from "./explain-turn.ts";
import type { TurnTimes } from "./turn-times.ts";

/**
 * Converts the explanation to the --json document. The parts of unavailable services are null, and so are closed_at, close_ms and settle_ms
 * if unknown.
 */
export function toExplanationJson(
  { workspaceId, turn, calls, entry, missing }: TurnExplanation,
  times: TurnTimes,
): JsonObject {
  return {
    message_id: Number(turn.messageId),
    turn_id: turn.turnId,
    workspace_id: workspaceId,
    session_id: turn.sessionId,
    bot_slug: turn.botSlug,
    source: turn.source,
    status: turn.status,
    error_code: turn.errorCode,
    blocked_reason: turn.blockedReason,
    finish_detail: turn.finishDetail,
    asked_model: turn.askedModel,
    model: turn.model,
    tokens_in: turn.tokensIn,
    tokens_out: turn.tokensOut,
    opened_at: turn.openedAt,
    closed_at: turn.closedAt || null,
    wall_ms: times.wallMs,
    first_token_ms: turn.firstTokenMs,
    phases: times.phases.map(({ name, ms }) => ({ name, ms })),
    close_ms: times.closeMs ?? null,
    settle_ms: times.settleMs ?? null,
    is_settling: turn.isSettling,
    reconnects: turn.reconnects,
    calls: calls?.map((each) => messageToJson(CallSchema, each)) ?? null,
    knowledge: turn.knowledge.map((each) => messageToJson(PassageUsedSchema, each)),
    tools: turn.tools.map((each) => messageToJson(ToolCalledSchema, each)),
    quota: entry ? messageToJson(TurnEntrySchema, entry) : null,
    missing: missing.map(({ service, why }) => ({ service, why })),
  };
}

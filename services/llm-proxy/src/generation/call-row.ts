import type { AttemptRow, CallRow } from "../call-log/index.ts";
import { NO_PROVIDER_ERROR, ProviderFailure } from "../providers/index.ts";
import { formatCost, parseModelName } from "../settings/index.ts";
import {
  type GenerationAttempt,
  type GenerationRequest,
  type GenerationResult,
  toEnding,
} from "./generation-result.ts";

/**
 * Returns the call log's row of a generation, without the columns that handleGenerate adds. The row's `tries` are the generation's attempts;
 * the row's `attempts` is the number of those that sent a request.
 */
export function toCallRow(
  { workspaceId, turnId, model }: GenerationRequest,
  result: GenerationResult,
): Omit<CallRow, "callId" | "month" | "createdAt"> {
  const { usage, startedAtMs } = result;
  return {
    workspaceId,
    turnId,
    provider: result.provider,
    model: result.model,
    // An invalid name may be any text, so it is not stored.
    asked: parseModelName(model) === undefined ? "" : model,
    tokensIn: usage.tokensIn,
    tokensOut: usage.tokensOut,
    tokensCached: usage.tokensCached,
    tokensCacheWritten: usage.tokensCacheWritten,
    estimated: usage.isEstimated,
    queueMs: Math.round(result.queueMs),
    firstTokenMs: Math.round(result.firstTextMs ?? 0),
    latencyMs: Math.round(result.totalMs),
    attempts: result.sentAttempts,
    failovers: result.failovers,
    outcome: result.outcome,
    reason: result.reason,
    finishDetail: result.finishDetail,
    cost: formatCost(usage.cost),
    rounds: result.rounds,
    toolCalls: result.toolCalls,
    toolsMs: Math.round(result.toolsMs),
    tries: result.attempts.map((attempt) => toAttemptRow(attempt, startedAtMs)),
  };
}

function toAttemptRow(attempt: GenerationAttempt, generationStartedAtMs: number): AttemptRow {
  const { request, startedAtMs, queueMs, isSent, firstTextAtMs, endedAtMs, failure, next } = attempt;
  const { outcome, reason } = toEnding(failure);
  const { status, code, message } = failure instanceof ProviderFailure ? failure.providerError : NO_PROVIDER_ERROR;
  return {
    model: request.candidate.model,
    startedMs: Math.round(startedAtMs - generationStartedAtMs),
    queueMs: Math.round(queueMs),
    sent: isSent,
    firstTokenMs: firstTextAtMs === undefined ? 0 : Math.round(firstTextAtMs - startedAtMs),
    latencyMs: Math.round(endedAtMs - startedAtMs),
    outcome,
    reason,
    next,
    providerStatus: status,
    providerCode: code,
    providerMessage: message,
  };
}

import { openSpan, type Span } from "@parley/service-kit";
import { ProviderFailure } from "../providers/index.ts";
import type { AttemptRequest, AttemptResult, Completion } from "./attempt-result.ts";

/**
 * Opens the span of one attempt, by OpenTelemetry's conventions for generative AI. The span contains no text of the prompt or the
 * completion. Returns undefined if no span is active or tracing is off.
 */
export function openProviderSpan({ candidate, turnId }: AttemptRequest): Span | undefined {
  const { name, guardedProvider } = candidate;
  const { settings } = guardedProvider;
  return openSpan(`chat ${name}`, {
    kind: "client",
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": settings.name,
      // The former name of gen_ai.provider.name, which some backends still read.
      "gen_ai.system": settings.name,
      "gen_ai.request.model": name,
      "server.address": settings.kind !== "builtin" ? new URL(settings.baseUrl).hostname : undefined,
      "parley.turn_id": turnId,
    },
  });
}

export function endProviderSpan(
  span: Span | undefined,
  { usage, finishReason }: Completion,
  failure: AttemptResult["failure"],
): void {
  if (span === undefined) return;
  span.setAttributes({
    "gen_ai.usage.input_tokens": usage?.tokensIn,
    "gen_ai.usage.output_tokens": usage?.tokensOut,
    "gen_ai.response.finish_reasons": finishReason === "" ? undefined : [finishReason],
  });
  if (failure === undefined) span.end();
  else span.end(errorTypeOf(failure));
}

/** Returns the value of `error.type` for a failed attempt. */
export function errorTypeOf(failure: NonNullable<AttemptResult["failure"]>): string {
  return failure instanceof ProviderFailure ? failure.reason : "cancelled";
}

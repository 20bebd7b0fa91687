import { openSpan, type Span } from "@parley/service-kit";
import type { Candidate } from "../providers/index.ts";
import type { CallRecord } from "./call-record.ts";

/**
 * The span of one call to a provider, by OpenTelemetry's conventions for generative AI; nothing of the prompt or of the reply is in
 * it. Undefined while traces are off.
 */
export function openProviderSpan({ guarded, name }: Candidate, { turnId }: CallRecord): Span | undefined {
  const { settings } = guarded;
  return openSpan(`chat ${name}`, {
    kind: "client",
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": settings.name,
      // Its older name, which some backends still look for.
      "gen_ai.system": settings.name,
      "gen_ai.request.model": name,
      "server.address": settings.kind === "openai" ? new URL(settings.baseUrl).hostname : undefined,
      "parley.turn_id": turnId,
    },
  });
}

/** Ends it with what is known by then; `failure` is the reason in our own words. */
export function endProviderSpan(span: Span | undefined, record: CallRecord, failure: string | undefined): void {
  if (span === undefined) return;
  const { usage, finishReason } = record;
  span.set({
    "gen_ai.usage.input_tokens": usage?.tokensIn,
    "gen_ai.usage.output_tokens": usage?.tokensOut,
    "gen_ai.response.finish_reasons": finishReason === "" ? undefined : [finishReason],
  });
  span.end(failure);
}

import type { StopCause } from "./provider.ts";

// Without case and punctuation, as in `content_filter`, `SAFETY` and `ContentPolicyViolationError`.
const LENGTH_REASONS: ReadonlySet<string> = new Set([
  "length",
  "maxtokens",
  "maxoutputtokens",
  "maxlength",
  "modellength",
  "tokenlimit",
  "modelcontextwindowexceeded",
]);
const REFUSAL_REASONS: ReadonlySet<string> = new Set([
  "blocked",
  "blocklist",
  "contentblocked",
  "contentfilter",
  "contentfiltered",
  "contentpolicy",
  "contentpolicyviolation",
  "contentpolicyviolationerror",
  "contentmoderation",
  "datainspectionfailed",
  "guardrail",
  "guardrailintervened",
  "guardrailsintervened",
  "imagesafety",
  "moderation",
  "moderationblocked",
  "prohibitedcontent",
  "recitation",
  "refusal",
  "refused",
  "responsibleaipolicyviolation",
  "safety",
  "sensitive",
  "spii",
]);
const FAILURE_REASONS: ReadonlySet<string> = new Set([
  "abort",
  "aborted",
  "canceled",
  "cancelled",
  "error",
  "failed",
  "insufficientsystemresource",
  "malformedfunctioncall",
  "malformedmodeloutput",
  "malformedtooluse",
  "networkerror",
  "timeout",
  "unexpectedtoolcall",
]);

/** Classifies a finish reason. An unknown reason is a normal stop. */
export function toStopCause(finishReason: string): StopCause | "failure" {
  // Gemini appends its own reason: `content_filter: SAFETY`.
  const reason = simplify(finishReason.split(":")[0] ?? "");
  if (LENGTH_REASONS.has(reason)) return "length";
  if (REFUSAL_REASONS.has(reason)) return "refusal";
  return FAILURE_REASONS.has(reason) ? "failure" : "stop";
}

/**
 * Whether an error reports that the model or its provider declined to answer. `error` is the error object that a
 * provider sent.
 */
export function isRefusalError(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, type, innererror, metadata } = error as Record<"code" | "type" | "innererror" | "metadata", unknown>;
  const codes = [code, type, (innererror as { code?: unknown } | null | undefined)?.code];
  // OpenRouter reports a flagged prompt with the code 403, and the flagged words in `metadata`.
  return (
    codes.some(isRefusalCode) || (typeof metadata === "object" && metadata !== null && "flagged_input" in metadata)
  );
}

/** Whether an error response reports that the provider declined to answer the prompt. `error` has its status, and its JSON body as `error`, as in the OpenAI SDK. Only some providers use status 400 for it. */
export function isRefusedRequest(error: unknown): boolean {
  const { status, error: body } = (error ?? {}) as { status?: unknown; error?: unknown };
  return typeof status === "number" && status >= 400 && status < 500 && isRefusalError(body);
}

function isRefusalCode(code: unknown): boolean {
  return typeof code === "string" && REFUSAL_REASONS.has(simplify(code));
}

function simplify(reason: string): string {
  return reason.toLowerCase().replace(/[^a-z]/g, "");
}

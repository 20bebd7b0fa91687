import { listErrorAndCauses } from "@parley/service-kit";
import { failureFromReason, failureFromStatus, ProviderFailure } from "../failure.ts";
import { isRefusedRequest } from "../finish-reason.ts";
import { readProviderError } from "../provider-error.ts";
import { readRetryAfterMs } from "../retry.ts";

/** An error of the AI SDK for a response with an error status. Its other fields contain the prompt, so it must not become a cause. */
type StatusError = { statusCode: number; responseBody?: string; responseHeaders?: Record<string, string> };

/**
 * Maps an error that a model of the AI SDK threw, or an error part of its stream. `reason` is the reason of an error without a meaning of its own, such as
 * that of an event that is not JSON. No error of the SDK becomes a cause.
 */
export function toFailure(error: unknown, reason: "malformed" | "internal" = "malformed"): ProviderFailure {
  if (!(error instanceof Error)) return failureFromStreamError(error);
  // The fetch of the request throws ProviderFailure, and the SDK wraps it.
  const failure = listErrorAndCauses(error).find((each) => each instanceof ProviderFailure);
  if (failure !== undefined) return failure;
  if (isStatusError(error)) {
    const { statusCode, responseBody, responseHeaders } = error;
    return failureFromStatus(statusCode, {
      retryAfterMs: readRetryAfterMs(new Headers(responseHeaders), Date.now()),
      providerCode: readProviderError(responseBody).code,
      body: responseBody,
    });
  }
  return new ProviderFailure("provider_error", reason, {
    isProviderFault: reason === "malformed",
    detail: error.name,
  });
}

/** Whether the provider declined to answer the prompt. */
export function isRefusal(error: unknown): boolean {
  if (!isStatusError(error)) return false;
  const body = parseJson(error.responseBody ?? "") as { error?: unknown } | null | undefined;
  return isRefusedRequest({ status: error.statusCode, error: body?.error ?? body });
}

/** Maps an error that the provider sent as an event. */
function failureFromStreamError(error: unknown): ProviderFailure {
  const { statusCode, type, data = error } = (error ?? {}) as { statusCode?: unknown; type?: unknown; data?: unknown };
  if (typeof statusCode === "number" && statusCode >= 400)
    return failureFromStatus(statusCode, { providerCode: type, body: data });
  const sentError = { status: 200, ...readProviderError(data) };
  return failureFromReason("stream_error", sentError);
}

function isStatusError(error: unknown): error is StatusError {
  const { statusCode } = error instanceof Error ? (error as Partial<StatusError>) : {};
  return statusCode !== undefined && statusCode >= 300;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

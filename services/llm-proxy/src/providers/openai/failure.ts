import { listErrorAndCauses } from "@parley/service-kit";
import type { APIError } from "openai";
import { failureFromStatus, ProviderFailure } from "../failure.ts";
import type { ProviderError } from "../provider-error.ts";
import { readRetryAfterMs } from "../retry.ts";

/** Maps an error of a request without a successful response: the provider sent a status other than 2xx, or is unreachable. */
export function failureFromRequestError(error: unknown): ProviderFailure {
  if (isStatusError(error)) {
    const { status, headers, code, type, message } = error;
    // The SDK puts a body that is not a JSON object into the message, after the status.
    const body: unknown = error.error ?? message.replace(/^\d+ (status code \(no body\)$)?/, "");
    return failureFromStatus(status, {
      retryAfterMs: readRetryAfterMs(headers, Date.now()),
      providerCode: code ?? type,
      body,
    });
  }
  const codes = listErrorAndCauses(error).map((each) => (each as { code?: unknown }).code);
  const detail = codes.join(" ").trim() || listErrorAndCauses(error).at(-1)?.name;
  return codes.includes("UND_ERR_CONNECT_TIMEOUT")
    ? new ProviderFailure("provider_timeout", "connect_timeout", { isRetryable: true, isProviderFault: true, detail })
    : new ProviderFailure("provider_error", "connect", { isRetryable: true, isProviderFault: true, detail });
}

/** Maps an error that occurred while a response's body was read: the connection was closed or reset before the end. */
export function failureFromBodyError(error: unknown): ProviderFailure {
  const detail = error instanceof Error ? error.name : typeof error;
  return new ProviderFailure("provider_error", "truncated", {
    isRetryable: true,
    isProviderFault: true,
    detail,
    cause: error,
  });
}

function isStatusError(error: unknown): error is APIError<number, Headers> {
  return error instanceof Error && typeof (error as Partial<APIError>).status === "number";
}

/** Returns the failure of a provider whose response is unusable. `reason` is, for example, `malformed` or `too_large`. */
export function failureFromReason(reason: string, sentError?: ProviderError): ProviderFailure {
  return new ProviderFailure("provider_error", reason, { isProviderFault: true, sentError });
}

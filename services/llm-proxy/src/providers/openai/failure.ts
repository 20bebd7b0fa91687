import type { APIError } from "openai";
import { failureFromConnectError, failureFromStatus, type ProviderFailure } from "../failure.ts";
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
  return failureFromConnectError(error);
}

function isStatusError(error: unknown): error is APIError<number, Headers> {
  return error instanceof Error && typeof (error as Partial<APIError>).status === "number";
}

import { GenerateStatus } from "@parley/rpc/llm";
import type { Failure } from "./events.ts";

const MESSAGES = {
  provider_auth: "The assistant is not available at the moment. Please try again later.",
  provider_rate_limited: "The assistant is very busy right now. Please try again in a moment.",
  provider_timeout: "The assistant took too long to answer. Please try again.",
  provider_error: "The assistant could not finish its answer. Please try again.",
  internal_error: "Something went wrong on our side. Please try again.",
} as const;

export type FailureCode = keyof typeof MESSAGES;

export const FAILURE_CODES = Object.keys(MESSAGES) as FailureCode[];

const BY_STATUS: Partial<Record<GenerateStatus, FailureCode>> = {
  [GenerateStatus.PROVIDER_AUTH]: "provider_auth",
  [GenerateStatus.PROVIDER_RATE_LIMITED]: "provider_rate_limited",
  [GenerateStatus.PROVIDER_TIMEOUT]: "provider_timeout",
  [GenerateStatus.PROVIDER_ERROR]: "provider_error",
};

/** The stable code of a reply that did not complete; what only an operator can mend is an internal error to the visitor. */
export function failureCode(status: GenerateStatus): FailureCode {
  return BY_STATUS[status] ?? "internal_error";
}

/** What a visitor is told; never the provider's own words. */
export function failure(code: FailureCode): Failure {
  return { code, message: MESSAGES[code] };
}

export function quotaExceededMessage(): string {
  return "This assistant has reached its monthly message limit. Please try again next month.";
}

import type { FailureCode } from "@parley/rpc/outcomes";
import type { FailureEvent } from "./events.ts";

const VISITOR_MESSAGES: Readonly<Record<FailureCode, string>> = {
  provider_auth: "The assistant is not available at the moment. Please try again later.",
  provider_rate_limited: "The assistant is very busy right now. Please try again in a moment.",
  provider_timeout: "The assistant took too long to answer. Please try again.",
  provider_error: "The assistant could not finish its answer. Please try again.",
  busy: "The assistant is busy right now. Please try again later.",
  internal_error: "Something went wrong on our side. Please try again.",
};

/** Returns the `error` event for a visitor. It never contains the provider's own message. */
export function createFailureEvent(code: FailureCode): FailureEvent {
  return { code, message: VISITOR_MESSAGES[code] };
}

export function quotaExceededMessage(): string {
  return "This assistant has reached its monthly message limit. Please try again next month.";
}

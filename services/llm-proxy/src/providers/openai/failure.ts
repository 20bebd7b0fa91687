import type { IncomingHttpHeaders } from "node:http";
import { failureOfStatus, ProviderFailure } from "../failure.ts";
import { retryAfterMs } from "../retry.ts";

/** What undici or Node threw instead of an answer; the reason of a signal may be a failure of ours. */
export function unreached(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  const codes = causes(error).map((each) => (each as { code?: unknown }).code);
  const detail = codes.join(" ").trim() || (error instanceof Error ? error.name : typeof error);
  return codes.includes("UND_ERR_CONNECT_TIMEOUT")
    ? new ProviderFailure("provider_timeout", "connect_timeout", { retryable: true, fault: true, detail })
    : new ProviderFailure("provider_error", "connect", { retryable: true, fault: true, detail });
}

/** What an answer says that is none; `nowMs` reads a Retry-After that is a date. */
export function refused(status: number, headers: IncomingHttpHeaders, text: string, nowMs: number): ProviderFailure {
  return failureOfStatus(status, { retryAfterMs: retryAfterMs(headers, nowMs), providerCode: codeIn(text) });
}

/** What the provider calls it, if it says so as OpenAI does. */
function codeIn(text: string): unknown {
  try {
    const { code, type } = JSON.parse(text).error;
    return code ?? type;
  } catch {
    return undefined;
  }
}

/** What ended a body before its end: its socket was closed or reset under it. */
export function brokenOff(error: unknown): ProviderFailure {
  const detail = error instanceof Error ? error.name : typeof error;
  return new ProviderFailure("provider_error", "truncated", { retryable: true, fault: true, detail, cause: error });
}

function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let each = error; each instanceof Error && chain.length < 5; each = each.cause) chain.push(each);
  return chain;
}

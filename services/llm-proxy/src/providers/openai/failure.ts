import { APIConnectionError, APIError } from "openai";
import { failureOfStatus, ProviderFailure } from "../../domain/failure.ts";
import { retryAfterMs } from "../../domain/retry.ts";

/** What the SDK, undici or Node threw, as a failure of ours; `nowMs` reads a Retry-After that is a date. */
export function toFailure(error: unknown, nowMs: number): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  if (error instanceof APIConnectionError) {
    const codes = causes(error)
      .filter((each) => !(each instanceof ProviderFailure))
      .map((each) => (each as { code?: unknown }).code);
    const detail = codes.join(" ");
    return codes.includes("UND_ERR_CONNECT_TIMEOUT")
      ? new ProviderFailure("provider_timeout", "connect_timeout", { retryable: true, fault: true, detail })
      : new ProviderFailure("provider_error", "connect", { retryable: true, fault: true, detail });
  }
  if (error instanceof APIError && error.status !== undefined) {
    return failureOfStatus(error.status, {
      retryAfterMs: retryAfterMs(error.headers ?? new Headers(), nowMs),
      providerCode: error.code ?? error.type,
    });
  }
  return brokenOff(error);
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

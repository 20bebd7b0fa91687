import type { GenerationFailureCode } from "@parley/rpc/outcomes";
import { listErrorAndCauses } from "@parley/service-kit";
import { type SamplingProblem, SETTING_NAMES } from "../settings/index.ts";
import { NO_PROVIDER_ERROR, type ProviderError, readProviderError } from "./provider-error.ts";

type FailureOptions = {
  /** Whether the request may be retried with the same provider, if no text has been passed on yet. */
  isRetryable?: boolean;
  /** The wait that the provider asked for. */
  retryAfterMs?: number | undefined;
  /**
   * Whether the cause is the provider, not this one request. If so, the circuit breaker counts the failure. Independent of `isRetryable`: a 429
   * may be retried but is no fault of the provider.
   */
  isProviderFault?: boolean;
  /** For the debug log: the provider's machine-readable code, or the error's codes or class name. */
  detail?: string | undefined;
  /** What the provider reports, as it sent it. */
  sentError?: ProviderError | undefined;
  cause?: unknown;
};

/**
 * A failed request to a provider. `code` becomes the generation's outcome. `reason` is more specific, such as `connect`, `http_503` or
 * `truncated`.
 */
export class ProviderFailure extends Error {
  readonly code: GenerationFailureCode;
  readonly reason: string;
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly isProviderFault: boolean;
  readonly detail: string;
  /** What the provider reports, without secrets and texts of the request. For the log and the call log, never for visitors. */
  readonly providerError: ProviderError = NO_PROVIDER_ERROR;
  /** Private, so that no logger finds it: it can contain the prompt and parts of the key. */
  readonly #sentError: ProviderError | undefined;

  constructor(code: GenerationFailureCode, reason: string, options: FailureOptions = {}) {
    super(`${code}: ${reason}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ProviderFailure";
    this.code = code;
    this.reason = reason;
    this.isRetryable = options.isRetryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.isProviderFault = options.isProviderFault ?? false;
    this.detail = options.detail ?? "";
    this.#sentError = options.sentError;
  }

  /** Sets `providerError` to what the provider sent, after `redact` has removed secrets and texts of the request. */
  withRedactedError(redact: (error: ProviderError) => ProviderError): ProviderFailure {
    return this.#sentError === undefined ? this : Object.assign(this, { providerError: redact(this.#sentError) });
  }
}

/** The abort reason of a generation's signal when the caller cancels it, its deadline passes, or moderation stops it. */
export class GenerationCancelled extends Error {
  constructor() {
    super("the generation was cancelled");
    this.name = "GenerationCancelled";
  }
}

// Matches only machine-readable codes. Other text of a provider can be a message, an echoed prompt or a key, which must not reach a log.
const PROVIDER_CODE = /^[a-z_]{1,64}$/;

type StatusOptions = {
  retryAfterMs?: number | undefined;
  /** The provider's machine-readable code, e.g. `insufficient_quota`. */
  providerCode?: unknown;
  /** The error as the provider sent it: a body, or a part of a stream. */
  body?: unknown;
};

/** Maps an HTTP status of 300 or more, from a response or from an error inside a stream. */
export function failureFromStatus(
  status: number,
  { providerCode, retryAfterMs, body }: StatusOptions = {},
): ProviderFailure {
  const reason = `http_${status}`;
  const sentError = { status, ...readProviderError(body) };
  const rest = { retryAfterMs, detail: toProviderCode(providerCode), sentError };
  if (status === 401 || status === 403) return new ProviderFailure("provider_auth", reason, rest);
  if (status === 429) {
    // An account without credit gets 429 too, and waiting does not help.
    const isRetryable = rest.detail !== "insufficient_quota";
    return new ProviderFailure("provider_rate_limited", reason, { ...rest, isRetryable });
  }
  if (status === 408 || status === 504) {
    return new ProviderFailure("provider_timeout", reason, { ...rest, isRetryable: true, isProviderFault: true });
  }
  const isServerError = status >= 500;
  const isRetryable = isServerError || status === 409;
  return new ProviderFailure("provider_error", reason, { ...rest, isRetryable, isProviderFault: isServerError });
}

/** Returns a provider's machine-readable code; undefined if the value is not such a code. */
export function toProviderCode(value: unknown): string | undefined {
  return typeof value === "string" && PROVIDER_CODE.test(value) ? value : undefined;
}

/** Maps an error of a request without a response: the provider is unreachable. */
export function failureFromConnectError(error: unknown): ProviderFailure {
  const codes = listErrorAndCauses(error).map((each) => (each as { code?: unknown }).code);
  const detail = codes.join(" ").trim() || listErrorAndCauses(error).at(-1)?.name;
  return codes.includes("UND_ERR_CONNECT_TIMEOUT")
    ? new ProviderFailure("provider_timeout", "connect_timeout", { isRetryable: true, isProviderFault: true, detail })
    : new ProviderFailure("provider_error", "connect", { isRetryable: true, isProviderFault: true, detail });
}

/**
 * Maps an error of the library that gets credentials from the machine, the cluster or the cloud. Its message can contain a token, so only Azure's code of the
 * error is reported.
 */
export function failureFromCredentialsError(error: unknown): ProviderFailure {
  const errors = listErrorAndCauses(error);
  const detail = errors.at(0)?.name ?? typeof error;
  const [message = ""] = errors.flatMap((each) => /\bAADSTS\d{4,9}\b/.exec(each.message) ?? []);
  const sentError = { ...NO_PROVIDER_ERROR, message };
  return new ProviderFailure("provider_auth", "credentials", { isRetryable: true, detail, sentError });
}

/** Maps an error that occurred while a response's body was read: the connection was closed or reset before the end. */
export function failureFromBodyError(error: unknown): ProviderFailure {
  return createTruncatedFailure({ detail: error instanceof Error ? error.name : typeof error, cause: error });
}

/** Returns the failure of a completion whose end is missing. */
export function createTruncatedFailure(options: Pick<FailureOptions, "detail" | "cause"> = {}): ProviderFailure {
  return new ProviderFailure("provider_error", "truncated", { isRetryable: true, isProviderFault: true, ...options });
}

/** Returns the failure of an attempt whose model does not accept a setting of the bot or of LLM_CONFIG. */
export function failureFromSetting({ setting, sentence }: SamplingProblem): ProviderFailure {
  const sentError = { status: 0, code: SETTING_NAMES[setting], message: sentence };
  return new ProviderFailure("provider_error", "unsupported_setting", { sentError });
}

/** Returns the failure of a provider whose response is unusable. `reason` is, for example, `malformed` or `too_large`. */
export function failureFromReason(reason: string, sentError?: ProviderError): ProviderFailure {
  return new ProviderFailure("provider_error", reason, { isProviderFault: true, sentError });
}

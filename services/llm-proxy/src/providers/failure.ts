/** The stable codes a reply can fail with. */
export type FailureCode =
  | "provider_auth"
  | "provider_rate_limited"
  | "provider_timeout"
  | "provider_error"
  | "model_unknown";

type FailureOptions = {
  /** Whether the same provider may be asked again, as long as nothing of the reply was sent on. */
  retryable?: boolean;
  /** What the provider asked us to wait. */
  retryAfterMs?: number | undefined;
  /** Whether it says that the provider is in trouble; a refusal of this one request does not. */
  fault?: boolean;
  /** A machine-readable code of the provider's or of Node's, for the debug log alone. */
  detail?: string | undefined;
  /** What was thrown elsewhere, for whoever looks into it. */
  cause?: unknown;
};

/** A reply that failed: a stable code, and a reason in a few words of our own (`connect`, `http_503`, `truncated`). */
export class ProviderFailure extends Error {
  readonly code: FailureCode;
  readonly reason: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly fault: boolean;
  readonly detail: string;

  constructor(code: FailureCode, reason: string, options: FailureOptions = {}) {
    super(`${code}: ${reason}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ProviderFailure";
    this.code = code;
    this.reason = reason;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.fault = options.fault ?? false;
    this.detail = options.detail ?? "";
  }
}

/** The caller went away; nobody is left to be told. */
export class CallCancelled extends Error {
  constructor() {
    super("the caller went away");
    this.name = "CallCancelled";
  }
}

// Codes are words with underscores; anything else (a message, an echoed prompt or key) is nothing to keep.
const CODE = /^[a-z_]{1,64}$/;

type StatusOptions = {
  retryAfterMs?: number | undefined;
  /** The provider's machine-readable code, e.g. `insufficient_quota`. */
  providerCode?: unknown;
};

/** What an HTTP status of 300 or more, in a response or inside a stream, means for a reply. */
export function failureOfStatus(status: number, { providerCode, retryAfterMs }: StatusOptions = {}): ProviderFailure {
  const reason = `http_${status}`;
  const rest = { retryAfterMs, detail: codeOf(providerCode) };
  if (status === 401 || status === 403) return new ProviderFailure("provider_auth", reason, rest);
  if (status === 429) {
    // An empty purse is refused like a full window, but waiting does not fill it.
    const retryable = rest.detail !== "insufficient_quota";
    return new ProviderFailure("provider_rate_limited", reason, { ...rest, retryable });
  }
  if (status === 408 || status === 504) {
    return new ProviderFailure("provider_timeout", reason, { ...rest, retryable: true, fault: true });
  }
  const ours = status < 500;
  return new ProviderFailure("provider_error", reason, { ...rest, retryable: !ours || status === 409, fault: !ours });
}

/** A provider's machine-readable code; undefined for anything that is not one. */
export function codeOf(value: unknown): string | undefined {
  return typeof value === "string" && CODE.test(value) ? value : undefined;
}

export type EgressErrorCode = "url_refused" | "too_many_redirects" | "too_large" | "timeout" | "unreachable";

/**
 * A refused or failed request. Its code and message may be shown to the person who entered the URL: they do not reveal whether a name has an
 * address that is not permitted, has no address, or names a server that does not answer. Otherwise anybody who may enter a URL could explore
 * the operator's network. `detail` does reveal it, and is for the operator's log only.
 */
export class EgressError extends Error {
  readonly code: EgressErrorCode;
  readonly detail: string;

  constructor(code: EgressErrorCode, message: string, { detail = code, ...options }: EgressErrorOptions = {}) {
    super(message, options);
    this.name = "EgressError";
    this.code = code;
    this.detail = detail;
  }
}

export type EgressErrorOptions = ErrorOptions & { detail?: string };

export function unreachableError(detail: string, options?: ErrorOptions): EgressError {
  return new EgressError("unreachable", "the server cannot be reached", { ...options, detail });
}

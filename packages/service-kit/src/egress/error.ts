export type EgressErrorCode =
  | "url_refused"
  | "address_refused"
  | "too_many_redirects"
  | "too_large"
  | "timeout"
  | "unreachable";

/** A refused or failed request. Its message may be shown to the person who entered the URL. */
export class EgressError extends Error {
  readonly code: EgressErrorCode;

  constructor(code: EgressErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EgressError";
    this.code = code;
  }
}

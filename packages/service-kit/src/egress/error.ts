/** Why a request did not leave, or did not come back as it should. */
export type EgressErrorCode =
  | "url_refused"
  | "address_refused"
  | "too_many_redirects"
  | "too_large"
  | "timeout"
  | "unreachable";

/** A request that was refused or failed; its message is fit for whoever gave the URL. */
export class EgressError extends Error {
  readonly code: EgressErrorCode;

  constructor(code: EgressErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EgressError";
    this.code = code;
  }
}

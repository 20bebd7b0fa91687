/** An error response sent before a stream is open: an HTTP status, a documented code and headers such as Retry-After. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, headers: Readonly<Record<string, string>> = {}, options?: ErrorOptions) {
    super(code, options);
    this.name = "HttpError";
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** Returns a 503: another Parley service is unavailable, and the client may retry after a second. */
export function unavailable(cause: unknown): HttpError {
  return new HttpError(503, "unavailable", { "retry-after": "1" }, { cause });
}

import { RpcError } from "@parley/rpc";

/** An error response with a code that the API documents. */
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

/**
 * Returns the 503 for a failed call to another Parley service. The code is `overloaded` if that service refused the call as overloaded,
 * and `unavailable` otherwise.
 */
export function unavailableError(cause: unknown): HttpError {
  if (cause instanceof RpcError && cause.code === "overloaded")
    return new HttpError(503, "overloaded", { "retry-after": "2" }, { cause });
  return new HttpError(503, "unavailable", { "retry-after": "1" }, { cause });
}

/** Returns the 503 for a reached limit on concurrent streams or turns. The client may retry after 5 s. */
export function overloadedError(cause?: unknown): HttpError {
  return new HttpError(503, "overloaded", { "retry-after": "5" }, { cause });
}

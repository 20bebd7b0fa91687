import { RpcError } from "@parley/rpc";

/** An error response with a code that the API documents. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Distinguishes the causes of one code for operators, such as the limit that was reached. Empty if the code has one cause. */
  readonly reason: string;
  /** The fields of the response's body, besides the code. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    code: string,
    headers: Readonly<Record<string, string>> = {},
    { reason = "", fields = {}, ...options }: ErrorOptions & Partial<Pick<HttpError, "reason" | "fields">> = {},
  ) {
    super(code, options);
    this.name = "HttpError";
    this.status = status;
    this.code = code;
    this.headers = headers;
    this.reason = reason;
    this.fields = fields;
  }
}

/** The response header that names the field of the request at fault in a 400. */
export const ERROR_FIELD_HEADER = "Parley-Error-Field";

/** Other names that a client sends are not put into a header. */
const FIELD_NAME = /^[\w-]{1,64}$/;

/** The field's name if the whole body is at fault, or if the field has no presentable name. */
const WHOLE_BODY = "body";

/** Returns a 400 whose header names the field at fault: a field of the body, a query parameter or a header of the request. */
export function badRequest(code: string, field: string = WHOLE_BODY, options?: ErrorOptions): HttpError {
  return new HttpError(400, code, { [ERROR_FIELD_HEADER]: FIELD_NAME.test(field) ? field : WHOLE_BODY }, options);
}

/** Returns a 400: the field is missing, malformed or too large. */
export const invalidMessage = (field?: string): HttpError => badRequest("invalid_message", field);

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
export function overloadedError(reason: string, cause?: unknown): HttpError {
  return new HttpError(503, "overloaded", { "retry-after": "5" }, { cause, reason });
}

/** toRpcError maps these to gRPC statuses. */
export type ErrorKind =
  | "invalid_argument"
  | "unauthenticated"
  | "permission_denied"
  | "not_found"
  | "already_exists"
  | "failed_precondition"
  | "resource_exhausted"
  | "unavailable";

/** A failure with a stable code (`session_not_found`) and a message that may be sent to the caller. Internal details go into `cause`. */
export class ServiceError extends Error {
  readonly kind: ErrorKind;
  readonly code: string;

  constructor(kind: ErrorKind, code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ServiceError";
    this.kind = kind;
    this.code = code;
  }
}

export function notFound(code: string, message: string): ServiceError {
  return new ServiceError("not_found", code, message);
}

export function invalidArgument(message: string, code = "invalid_argument"): ServiceError {
  return new ServiceError("invalid_argument", code, message);
}

/** Returns an error and its causes, at most five in total; an empty list if `error` is not an Error. */
export function listErrorAndCauses(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let each = error; each instanceof Error && chain.length < 5; each = each.cause) chain.push(each);
  return chain;
}

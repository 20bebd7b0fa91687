import { CALL_CANCELLED, RpcError, status } from "@parley/rpc";
import { type ErrorKind, ServiceError } from "../errors.ts";
import type { Logger } from "../process/logger.ts";

const STATUS_BY_KIND: Record<ErrorKind, status> = {
  invalid_argument: status.INVALID_ARGUMENT,
  unauthenticated: status.UNAUTHENTICATED,
  permission_denied: status.PERMISSION_DENIED,
  not_found: status.NOT_FOUND,
  already_exists: status.ALREADY_EXISTS,
  failed_precondition: status.FAILED_PRECONDITION,
  resource_exhausted: status.RESOURCE_EXHAUSTED,
  unavailable: status.UNAVAILABLE,
};

/**
 * Converts an error to the RpcError that the caller receives. RpcError and ServiceError keep their code and message. Any other error becomes
 * CANCELLED, UNAVAILABLE or INTERNAL without its message.
 */
export function toRpcError(error: unknown, signal?: AbortSignal): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof ServiceError) {
    return new RpcError(STATUS_BY_KIND[error.kind], error.code, error.message, { cause: error });
  }
  if (signal?.aborted)
    return new RpcError(CALL_CANCELLED.status, CALL_CANCELLED.code, CALL_CANCELLED.message, { cause: error });
  if (isTransient(error)) {
    return new RpcError(status.UNAVAILABLE, "unavailable", "the database is unavailable", { cause: error });
  }
  return new RpcError(status.INTERNAL, "internal_error", "internal error", { cause: error });
}

/** Logs the error of a failed call. `mapped` is the error that the caller receives. */
export type CallErrorLog = (method: string, error: unknown, mapped: RpcError) => void;

/** Returns a function that logs internal errors and database failures. Each log message begins with `kind`, e.g. `admin call`. */
export function createCallErrorLog(log: Logger, kind: string): CallErrorLog {
  return (method, error, mapped) => {
    if (mapped.status === status.INTERNAL) log.error({ method, error }, `${kind} failed`);
    if (mapped.status === status.UNAVAILABLE && isTransient(error))
      log.warn({ method, error }, `${kind} failed, database unavailable`);
  };
}

// SQLSTATE classes 08 (connection), 53 (resources) and 57P (shutdown); 57014 (statement timeout), 55P03 (lock timeout), 40P01 (deadlock),
// 25006 (the server is read-only, e.g. a former primary) and 58000 (a router does not reach the shard); Node's network errors.
const TRANSIENT_CODES =
  /^(08|53|57P|57014$|55P03$|40P01$|25006$|58000$)|^E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NOTFOUND|AI_AGAIN)$/;

function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && TRANSIENT_CODES.test(code)) return true;
  // Errors of pg's pool and client, which have no code.
  return /Connection terminated|not queryable|timeout exceeded when trying to connect|Query read timeout/.test(
    error.message,
  );
}

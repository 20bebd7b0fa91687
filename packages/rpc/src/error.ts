import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { CODE_METADATA_KEY } from "./code.ts";

export { status };

/** grpc-js adds this key to the metadata of a failed call that it has retried. */
const PREVIOUS_ATTEMPTS_KEY = "grpc-previous-rpc-attempts";

export type RpcErrorOptions = ErrorOptions & { isFromParley?: boolean; isRetry?: boolean };

/** A failed call: its gRPC status, a stable code such as `session_not_found`, and a message that holds no secrets. */
export class RpcError extends Error {
  readonly status: status;
  readonly code: string;
  /**
   * False if gRPC or a proxy made the error. Then the status proves nothing about what the peer did: for example, gRPC reports
   * RESOURCE_EXHAUSTED for a response that is too large, which it sends after the handler has done its work.
   */
  readonly isFromParley: boolean;
  /** Whether an earlier attempt of the same call failed. That attempt may have succeeded at the peer. */
  readonly isRetry: boolean;

  constructor(
    grpcStatus: status,
    code: string,
    message: string,
    { isFromParley = true, isRetry = false, ...options }: RpcErrorOptions = {},
  ) {
    super(message, options);
    this.name = "RpcError";
    this.status = grpcStatus;
    this.code = code;
    this.isFromParley = isFromParley;
    this.isRetry = isRetry;
  }

  /** Converts an error of a client call. If the peer sent no stable code, the code is the status in lower case. */
  static from(error: unknown): RpcError {
    if (error instanceof RpcError) return error;
    const { code = status.UNKNOWN, details, metadata, message } = error as Partial<ServiceError>;
    const sentCode = metadata?.get(CODE_METADATA_KEY)[0];
    const isFromParley = typeof sentCode === "string";
    const stableCode = isFromParley ? sentCode : (status[code] ?? "unknown").toLowerCase();
    const isRetry = (metadata?.get(PREVIOUS_ATTEMPTS_KEY).length ?? 0) > 0;
    return new RpcError(code, stableCode, details ?? message ?? "the call failed", {
      cause: error,
      isFromParley,
      isRetry,
    });
  }

  /** Returns this error as the result of a retry. */
  asRetry(): RpcError {
    const { isFromParley } = this;
    return new RpcError(this.status, this.code, this.message, { cause: this, isFromParley, isRetry: true });
  }

  /** Returns the status and trailers that a grpc-js server sends for this error. */
  toStatus(): { code: status; details: string; metadata: Metadata } {
    const metadata = new Metadata();
    metadata.set(CODE_METADATA_KEY, this.code);
    return { code: this.status, details: this.message, metadata };
  }
}

/** Whether Parley's own code failed a call with one of these statuses. The same status of gRPC or a proxy proves nothing. */
export function isParleyError(error: unknown, ...statuses: readonly status[]): error is RpcError {
  return error instanceof RpcError && error.isFromParley && statuses.includes(error.status);
}

/** The reason with which a server aborts the signal of a call. abort() without a reason would create a DOMException for each call. */
export const CALL_CANCELLED: RpcError = new RpcError(
  status.CANCELLED,
  "cancelled",
  "the caller cancelled the call or disconnected, or its deadline passed",
);

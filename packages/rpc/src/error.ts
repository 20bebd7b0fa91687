import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { CODE_METADATA_KEY } from "./code.ts";

export { status };

/** A failed call: its gRPC status, a stable code such as `session_not_found`, and a message that holds no secrets. */
export class RpcError extends Error {
  readonly status: status;
  readonly code: string;

  constructor(grpcStatus: status, code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "RpcError";
    this.status = grpcStatus;
    this.code = code;
  }

  /** Converts an error of a client call. If the peer sent no stable code, the code is the status in lower case. */
  static from(error: unknown): RpcError {
    if (error instanceof RpcError) return error;
    const { code = status.UNKNOWN, details, metadata, message } = error as Partial<ServiceError>;
    const sentCode = metadata?.get(CODE_METADATA_KEY)[0];
    const stableCode = typeof sentCode === "string" ? sentCode : (status[code] ?? "unknown").toLowerCase();
    return new RpcError(code, stableCode, details ?? message ?? "the call failed", { cause: error });
  }

  /** Returns the status and trailers that a grpc-js server sends for this error. */
  toStatus(): { code: status; details: string; metadata: Metadata } {
    const metadata = new Metadata();
    metadata.set(CODE_METADATA_KEY, this.code);
    return { code: this.status, details: this.message, metadata };
  }
}

/** The reason with which a server aborts the signal of a call. abort() without a reason would create a DOMException for each call. */
export const CALL_CANCELLED: RpcError = new RpcError(
  status.CANCELLED,
  "cancelled",
  "the caller cancelled the call or disconnected, or its deadline passed",
);

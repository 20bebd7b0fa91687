import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { CODE_METADATA_KEY } from "./code.ts";

export { status };

/** A failed call: the gRPC status, a stable code such as `session_not_found`, and a message without secrets. */
export class RpcError extends Error {
  readonly status: status;
  readonly code: string;

  constructor(grpcStatus: status, code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "RpcError";
    this.status = grpcStatus;
    this.code = code;
  }

  /** Reads what a client call failed with; an error without a code of ours is named after its status. */
  static from(error: unknown): RpcError {
    const { code = status.UNKNOWN, details, metadata, message } = error as Partial<ServiceError>;
    const named = metadata?.get(CODE_METADATA_KEY)[0];
    const stable = typeof named === "string" ? named : (status[code] ?? "unknown").toLowerCase();
    return new RpcError(code, stable, details ?? message ?? "the call failed", { cause: error });
  }

  /** The shape a grpc-js server sends as the call's status and trailers. */
  toStatus(): { code: status; details: string; metadata: Metadata } {
    const metadata = new Metadata();
    metadata.set(CODE_METADATA_KEY, this.code);
    return { code: this.status, details: this.message, metadata };
  }
}

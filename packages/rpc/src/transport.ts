import type { Message } from "@bufbuild/protobuf";
import type { Metadata } from "@grpc/grpc-js";
import type { GrpcMethod } from "./method-definition.ts";

export type Call = {
  method: GrpcMethod;
  request: Message;
  /** The call's own metadata, such as its trace context. The transport adds the credentials. */
  metadata: Metadata;
  /** The time at which the call fails with DEADLINE_EXCEEDED, in milliseconds since the epoch. */
  deadlineMs: number;
  /** Cancels the call. */
  signal: AbortSignal | undefined;
  /** Whether a unary call waits for an unreachable peer until the deadline, instead of failing immediately. Ignored by `serverStream`. */
  waitForReady: boolean;
};

/** Sends a client's calls to its peer and returns the responses. A failed call throws an RpcError or grpc-js's ServiceError. */
export type CallTransport = {
  unary(call: Call): Promise<Message>;
  /** Cancels the call if its caller stops reading before the end. */
  serverStream(call: Call): AsyncIterable<Message>;
};

/** Adds credentials to the metadata of a call, or of a stream that multiplexes calls. */
export type MetadataWriter = (metadata: Metadata) => void;
